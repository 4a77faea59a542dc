# name: drivers come, go and reload, cards are reset, and nothing is left behind
# run: on demand
# build: asan
# timeout: 900
reset_function() { # ADDRESS: by FLR, and by nothing else
    local device=/sys/bus/pci/devices/$1
    echo "$1" >"/sys/bus/pci/drivers/mlx5_core/unbind" || return
    grep -qx flr <(tr ' ' '\n' <"$device/reset_method") || fail "no FLR, only $(cat "$device/reset_method")" || return
    echo flr >"$device/reset_method" && echo 1 >"$device/reset" || return
    holdings | grep -q ' holds nothing$' || fail "$(holdings)" || return
    echo "$1" >"/sys/bus/pci/drivers/mlx5_core/bind" && wait_until 60 all_active
}
reload_by_devlink() { devlink dev reload "pci/$1" && wait_until 60 all_active; }

part "the drivers come up" bring_up
part "the cards hold objects" something_is_held
for turn in 1 2 3; do
    part "unload $turn" unload_drivers
    part "nothing is left after unload $turn" nothing_is_held
    part "load $turn" bring_up
done
for card in $(cards); do
    part "devlink reloads $card" reload_by_devlink "$card"
    part "a reset of $card" reset_function "$card"
done
part "pingpong after all that" pingpong rc -c
part "the drivers go" unload_drivers
part "nothing is left" nothing_is_held
