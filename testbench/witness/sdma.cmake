# abi/gpu/sdma.h against the driver that will use it.
hca_layout_witness(sdma "packets and registers of copy engines are as Linux' driver has them"
    "a field of a copy engine's packet that is moved does not pass")
