# systemd before 235, as in Amazon Linux 2, makes no StateDirectory.
install -d -m 0750 -o efsmon -g efsmon /var/lib/efsmon

# The first installation enables and starts the service, unless a preset of the administrator's says otherwise.
# An upgrade leaves it as it is; what runs is restarted once, when the files of the old version are gone.
if [ "$1" -eq 1 ]; then
    systemctl --no-reload preset efsmon.service >/dev/null 2>&1 || :
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload >/dev/null 2>&1 || :
        if systemctl --quiet is-enabled efsmon.service 2>/dev/null && ! systemctl start efsmon.service >/dev/null 2>&1; then
            echo "efsmon did not start: see systemctl status efsmon" >&2
        fi
    fi
fi
