if [ -d /run/systemd/system ]; then
    systemctl daemon-reload >/dev/null 2>&1 || :
    if [ "$1" -ge 1 ]; then
        systemctl try-restart efsmon.service >/dev/null 2>&1 || :
    fi
fi

# The directories, which the package cannot own, go where nothing is left in them. rpm has no purge: what was not sent yet,
# settings and the user stay.
if [ "$1" -eq 0 ]; then
    rmdir /usr/share/efsmon/dashboards/alarms /usr/share/efsmon/dashboards /usr/share/efsmon/iam /usr/share/efsmon \
        /usr/share/doc/efsmon/examples /usr/share/doc/efsmon /usr/share/licenses/efsmon \
        /etc/efsmon/conf.d /etc/efsmon /var/lib/efsmon 2>/dev/null || :
fi
