# name: devlink reads the health of the cards, and dumps what the vendor-specific capability leads to
# timeout: 240
dump_size=$((0x1048)) # the initialization segment up to its last register

reporters_are_healthy() {
    local card reporter
    for card in $(cards); do
        devlink health show "pci/$card" || return
        for reporter in fw fw_fatal; do
            devlink health show "pci/$card" reporter "$reporter" | grep -q 'state healthy error 0 recover 0' ||
                fail "$reporter of $card: $(devlink health show "pci/$card" reporter "$reporter")" || return
        done
        devlink health diagnose "pci/$card" reporter fw | tee /dev/stderr | grep -q 'Syndrome: 0' || return
    done
}

# Words as the driver keeps them, little endian in the dump. Between registers stands its own mark, 0xbadacce5.
dump_is_the_segment() {
    local card=$1 bytes
    devlink health dump show "pci/$card" reporter fw_fatal >/tmp/dump || return
    bytes=$(sed 's/.*crdump_data://' /tmp/dump | tr -cd '0-9a-f\n ' | tr -s ' \n' ' ')
    [ "$(wc -w <<<"$bytes")" = $dump_size ] || fail "$(wc -w <<<"$bytes") bytes: $(head -c 500 /tmp/dump)" || return
    local all=($bytes)
    [ "${all[*]:4:4}" = "ea 03 05 00" ] ||
        fail "command interface revision and firmware version: ${all[*]:0:16}" || return
    [ "${all[*]:8:4}" = "e5 cc da ba" ] || fail "what is reserved: ${all[*]:0:16}" || return
    devlink health dump clear "pci/$card" reporter fw_fatal
}

# As a tool does it, with setpci: choose the CR space, read the number of the silicon.
tool_finds_the_silicon() {
    local card=$1
    setpci -s "$card" CAP09+4.l=2 CAP09+10.l=f0014
    [ "$(setpci -s "$card" CAP09+10.l CAP09+14.l | tr '\n' ' ')" = "800f0014 0000020f " ] ||
        fail "$(setpci -s "$card" CAP09+4.l CAP09+10.l CAP09+14.l)"
}

part "the drivers come up" bring_up
part "every reporter is healthy" reporters_are_healthy
for card in $(cards); do
    part "a dump of $card" dump_is_the_segment "$card"
    part "a second dump of $card" dump_is_the_segment "$card"
    part "the silicon of $card" tool_finds_the_silicon "$card"
    part "lspci knows the capability of $card" eval "lspci -vv -s $card | grep -q 'Vendor Specific Information: Len=18'"
done
part "the drivers go" unload_drivers
