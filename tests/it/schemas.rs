//! What is rendered, held against the descriptions of CloudWatch's API that AWS publishes.
