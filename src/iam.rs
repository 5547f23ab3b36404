//! The IAM policies that efsmon needs, least privilege, for what is configured. Pure.
