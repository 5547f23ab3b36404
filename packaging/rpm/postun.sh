# Erasing keeps /var/lib/efsmon while there is something in it, and the user: rpm has no purge.
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload >/dev/null 2>&1 || :
    if [ "$1" -ge 1 ]; then
        systemctl try-restart efsmon.service >/dev/null 2>&1 || :
    fi
fi
