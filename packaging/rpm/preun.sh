if [ "$1" -eq 0 ]; then
    systemctl --no-reload disable efsmon.service >/dev/null 2>&1 || :
    if [ -d /run/systemd/system ]; then
        systemctl stop efsmon.service >/dev/null 2>&1 || :
    fi
fi
