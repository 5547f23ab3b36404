# rpm 4.19 makes the user itself, from sysusers.d. Before, nobody does.
getent group efsmon >/dev/null || groupadd -r efsmon
getent passwd efsmon >/dev/null ||
    useradd -r -M -g efsmon -d /var/lib/efsmon -s /sbin/nologin -c "Client-side monitoring for Amazon EFS" efsmon
