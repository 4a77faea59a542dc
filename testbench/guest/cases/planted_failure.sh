# name: a part that fails makes its case fail
# expect: the script ended with 1
part "succeeds" true
part "fails" false
part "succeeds again" true
