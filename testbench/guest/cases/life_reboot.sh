# name: a guest reboots with its drivers loaded, and finds the cards as new
# run: on demand
# reboots: yes
# timeout: 180
case $BOOTS in
1)
    part "the drivers come up" bring_up
    part "the cards hold objects" something_is_held
    dmesg --raw >/exchange/kernel.1.log
    sync
    busybox reboot -f
    ;;
2)
    part "nothing is left" nothing_is_held
    part "the drivers come up again" bring_up
    part "pingpong" pingpong rc -c
    ;;
esac
