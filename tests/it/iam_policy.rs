//! `efsmon iam-policy`: no more and no less than what is asked of AWS.
