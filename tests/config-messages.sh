#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# config-messages.sh -- the exact words for every fault in the settings

. tests/functions.sh

unset SPILLWAY_JOB
driver=$top_builddir/tests/config-driver
export SPILLWAY_SHM_DIR=/dev/shm
mkdir "$scratch/tier" "$scratch/file.d"
echo x >"$scratch/plain"
chmod 755 "$scratch/tier"
bad=0

# says STATUS CMD...: the command's messages are standard input; @ stands for
# the test's directory, and a size that depends on the machine is SIZE.
says()
{
	local expected status=0 wanted=$1 found

	shift
	expected=$(cat)
	found=$("$@" 2>&1 >/dev/null) || status=$?
	found=${found//"$scratch"/@}
	if [[ $expected = *SIZE* ]]; then
		found=$(sed -E 's/ [0-9.]+ [KMGTPE]iB free/ SIZE free/
			s/ [0-9.]+ [KMGTPE]iB are free/ SIZE are free/
			/hint:/s/@[0-9]+[KMGTPE](,|$|  )/@SIZE\1/' <<<"$found")
	fi
	if [ "$found" != "$expected" ] || [ $status != "$wanted" ]; then
		echo "$*: status $status"
		diff <(echo "$expected") <(echo "$found") || :
		bad=1
	fi
}

tiers()
{
	env "SPILLWAY_TIERS=$1" "$driver"
}

# Tiers as they are written.

says 125 tiers 'ram@8G nvm:/mnt@20G' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 2: unknown tier kind "nvm"
    ram@8G nvm:/mnt@20G
           ^^^
    hint: did you mean nvme? available here: ram nvme pmem bb redis tiledb s3 azure gcs; see spillway-tiers(7)  [E181]
EOF
says 1 "$spillway" config --tiers 'ram@8G floppy:/mnt' <<EOF
spillway: error: --tiers, tier 2: unknown tier kind "floppy"
    ram@8G floppy:/mnt
           ^^^^^^
$("$spillway" config --tiers floppy 2>&1 >/dev/null | grep hint:)
EOF
says 125 tiers 'ram@8G nvme:/mnt/nvme@200Q' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 2: cannot read capacity "200Q"
    ram@8G nvme:/mnt/nvme@200Q
                          ^^^^
    hint: write 200G (1024^3), 200GB (1000^3) or 80%; see spillway-tiers(7)  [E101]
EOF
says 1 "$spillway" config --tiers ram@lots <<'EOF'
spillway: error: --tiers, tier 1: cannot read capacity "lots"
    ram@lots
        ^^^^
    hint: write 200G (1024^3), 200GB (1000^3) or 80%; see spillway-tiers(7)  [E101]
EOF
says 125 tiers ram@16 <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: capacity "16" has no unit
    ram@16
        ^^
    hint: write 16G (1024^3: 17179869184 bytes) or 16GB (1000^3: 16000000000 bytes)  [E103]
EOF
says 125 tiers ram@17179869184 <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: capacity "17179869184" has no unit
    ram@17179869184
        ^^^^^^^^^^^
    hint: write 17179869184B (16 GiB) or 17179869184K (16 TiB)  [E103]
EOF
says 125 tiers ram@101% <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: capacity "101%" is out of range
    ram@101%
        ^^^^
    hint: write 1% to 100%, or a size from 1M up  [E107]
EOF
says 125 tiers 'nvme:scratch@20G' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: path "scratch" is not absolute
    nvme:scratch@20G
         ^^^^^^^
    hint: write nvme:${PWD}/scratch  [E183]
EOF
says 125 tiers 'ram@1G nvme:/a@2G ram' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 3: tier 1 is the same
    ram@1G nvme:/a@2G ram
                      ^^^
    hint: there is one RAM tier; keep one of the two  [E184]
EOF
says 125 tiers 'nvme:/a@2G nvme:/a/' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 2: tier 1 is the same
    nvme:/a@2G nvme:/a/
               ^^^^^^^^
    hint: keep one of the two  [E184]
EOF
says 125 tiers 'ram@1G redis://me:hunter2@cache01:6379' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 2: a password or key does not belong into the list of tiers
    ram@1G redis://***@cache01:6379
                   ^^^
    hint: take it out, and change it if this text was ever stored; see spillway-tiers(7)  [E185]
EOF
says 125 tiers 's3://lab/run+secret_key=hunter2' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: a password or key does not belong into the list of tiers
    s3://lab/run+secret_key=***
                            ^^^
    hint: take it out, and change it if this text was ever stored; see spillway-tiers(7)  [E185]
EOF
says 125 tiers 'nvme:${SCRATCH_OF_NOBODY}/x@80%' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: variable ${SCRATCH_OF_NOBODY} is not set or empty
    nvme:${SCRATCH_OF_NOBODY}/x@80%
         ^^^^^^^^^^^^^^^^^^^^
    hint: set it where the program runs, or write the value itself  [E186]
EOF
says 125 tiers 'nvme:/a%2' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: "%2" is not a percent escape
    nvme:/a%2
           ^^
    hint: write %25 for a percent sign, %20 for a space, %40 for @, %2B for +  [E187]
EOF
says 125 tiers 'nvme:/a+zst=3' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: tier nvme has no option "zst"
    nvme:/a+zst=3
            ^^^
    hint: did you mean zstd? it takes: raw lz4 zstd brotli deflate lzma io filter  [E188]
EOF
says 125 tiers 'nvme:/a+zstd=99' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: zstd has no level "99"
    nvme:/a+zstd=99
                 ^^
    hint: write zstd=-5 to zstd=19  [E189]
EOF
says 125 tiers 'ram:/dev/shm@1G' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: tier ram has no place
    ram:/dev/shm@1G
        ^^^^^^^^
    hint: for example ram@16G  [E180]
EOF
says 125 tiers 'ram@1G,nvme:/a@2G' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: tiers are separated by blanks
    ram@1G,nvme:/a@2G
        ^^^^^^^^^^
    hint: for example 'ram@8G nvme:/scratch@80%'  [E180]
EOF
says 125 tiers $'nvme:/a\e[31m@2Q' <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: cannot read capacity "2Q"
    nvme:/a\x1b[31m@2Q
                    ^^
    hint: write 2G (1024^3), 2GB (1000^3) or 80%; see spillway-tiers(7)  [E101]
EOF

# Kinds that are known but not built in: whichever comes first.
for kind in nvme:/a pmem:/a bb:/a tiledb:/a redis://h s3://b azure://c \
	gcs://b; do
	"$spillway" config --tiers "$kind" >out 2>&1 || :
	grep -q 'E182' out || continue
	says 1 "$spillway" config --tiers "$kind" <<EOF
spillway: error: --tiers, tier 1: tier kind ${kind%%:*} is not built into this Spillway
    $kind
    $(sed 's/:.*//; s/./^/g' <<<"$kind")
    hint: available here: $(sed -n 's/.*available here: //p' out)
EOF
	break
done

# Tiers on this machine; ${D} keeps the text the same in every directory.

export D=$scratch
mkdir "$scratch/run"
cd "$scratch/run"
says 125 tiers 'nvme:${D}/none@1M' <<'EOF'
spillway: error: tier nvme: @/none: No such file or directory
    nvme:${D}/none@1M
         ^^^^^^^^^
    hint: mkdir -p @/none  [E111]
EOF
says 125 tiers 'nvme:${D}/plain@1M' <<'EOF'
spillway: error: tier nvme: @/plain: Not a directory
    nvme:${D}/plain@1M
         ^^^^^^^^^^
    hint: use a directory in place of @/plain  [E111]
EOF
says 125 tiers 'nvme:${D}/tier@9E' <<'EOF'
spillway: error: tier nvme: 9.0 EiB is more than @/tier has, SIZE are free
    nvme:${D}/tier@9E
                   ^^
    hint: write @80% for a share of what is free, or @SIZE  [E112]
EOF
says 1 "$spillway" config --tiers ram@9E <<'EOF'
spillway: error: tier ram: segment of 9.0 EiB does not fit, /dev/shm has SIZE free
    ram@9E
        ^^
    hint: write ram@SIZE, or make room there (docker run --shm-size=10g)  [E150]
EOF
says 1 "$spillway" config --shm-dir "$scratch/none" <<'EOF'
spillway: error: tier ram: shm-dir @/none: No such file or directory
    hint: set shm-dir to a directory in memory, e.g. /dev/shm  [E111]
EOF
mkdir tier
says 125 tiers 'nvme:${D}/run/tier@1M' <<'EOF'
spillway: error: tier nvme: @/run/tier lies in @/run, whose files are themselves accelerated
    nvme:${D}/run/tier@1M
         ^^^^^^^^^^^^^
    hint: use a directory elsewhere, or --exclude @/run/tier  [E113]
EOF
ln -s "$scratch/run/tier" "$scratch/link"
says 125 tiers 'nvme:${D}/link@1M' <<'EOF'
spillway: error: tier nvme: @/link lies in @/run, whose files are themselves accelerated
    nvme:${D}/link@1M
         ^^^^^^^^^
    hint: use a directory elsewhere, or --exclude @/link  [E113]
EOF
says 0 tiers 'nvme:${D}/tier@1M' </dev/null
says 0 env 'SPILLWAY_TIERS=nvme:${D}/run/tier@1M' "$driver" \
	--exclude tier </dev/null
says 0 env 'SPILLWAY_TIERS=nvme:${D}/run/tier@1M' "$driver" \
	--include /nowhere </dev/null
ln -s tier "$scratch/other"
says 125 tiers 'nvme:${D}/tier@1M bb:${D}/other@1M' <<'EOF'
spillway: error: tier bb: @/other is the directory of tier 1
    nvme:${D}/tier@1M bb:${D}/other@1M
                         ^^^^^^^^^^
    hint: give each tier a directory of its own  [E184]
EOF

# Settings.

says 2 "$spillway" config --teirs ram <<'EOF'
spillway: error: --teirs: unknown option
    hint: did you mean --tiers?  [E104]
EOF
says 2 "$spillway" config --frobnicate <<'EOF'
spillway: error: --frobnicate: unknown option
    hint: --help lists the options  [E104]
EOF
says 2 "$spillway" config --job <<'EOF'
spillway: error: --job: a value is missing
    hint: write --job NAME  [E109]
EOF
says 0 env SPILLWAY_TEIRS=x "$spillway" config <<'EOF'
spillway: warning: SPILLWAY_TEIRS is not a setting; did you mean SPILLWAY_TIERS?  [W102]
EOF
says 1 env SPILLWAY_TEIRS=x SPILLWAY_STRICT=1 "$spillway" config <<'EOF'
spillway: error: SPILLWAY_TEIRS is not a setting; did you mean SPILLWAY_TIERS?  [W102]
EOF
says 1 env SPILLWAY_DRAIN_DELAY=50 "$spillway" config <<'EOF'
spillway: error: SPILLWAY_DRAIN_DELAY: duration "50" has no unit
    50
    ^^
    hint: write 50ms (thousandths) or 50s (seconds)  [E103]
EOF
says 1 env SPILLWAY_DRAIN_DELAY=2m "$spillway" config <<'EOF'
spillway: error: SPILLWAY_DRAIN_DELAY: "2m" is out of range
    2m
    ^^
    hint: write 0s to 1min  [E107]
EOF
says 1 "$spillway" config --drain-timeout soon <<'EOF'
spillway: error: --drain-timeout: cannot read duration "soon"
    soon
    ^^^^
    hint: write a number with a unit: us ms s m h d, e.g. 50ms, or none  [E106]
EOF
says 1 "$spillway" config --weights 0.5,0.5,0.5 <<'EOF'
spillway: error: --weights: weights 0.5,0.5,0.5 add up to 1.5, not to 1
    0.5,0.5,0.5
    ^^^^^^^^^^^
    hint: they are for compression time, ratio and decompression time  [E114]
EOF
says 1 "$spillway" config --drainer thraed <<'EOF'
spillway: error: --drainer: "thraed" is not a choice
    thraed
    ^^^^^^
    hint: write auto, agent or thread  [E106]
EOF
says 1 "$spillway" config --job a/b <<'EOF'
spillway: error: --job: "a/b" cannot be a name
    a/b
     ^
    hint: use letters, digits, and . _ - between them  [E106]
EOF
says 1 "$spillway" config --quiet=maybe <<'EOF'
spillway: error: --quiet: "maybe" is neither yes nor no
    maybe
    ^^^^^
    hint: write yes, no, true, false, on, off, 1 or 0  [E106]
EOF
says 1 env SPILLWAY_INCLUDE=/a:data "$spillway" config <<'EOF'
spillway: error: SPILLWAY_INCLUDE: path "data" is not absolute
    /a:data
       ^^^^
    hint: begin it with / or ${HOME}/  [E183]
EOF
says 1 "$spillway" config --job "$(printf '%65s' x | tr ' ' x)" <<'EOF'
spillway: error: --job: the value is too long
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: it may have up to 64 bytes  [E108]
EOF

# Files.

conf=$scratch/test.conf
# file TEXT: what the command says to a file of this text.
file()
{
	printf '%s' "$1" >"$conf"
	chmod 644 "$conf"
	"$spillway" config --config "$conf"
}
says 1 file $'job = a\n\ndrain-delay 50ms\n' <<'EOF'
spillway: error: @/test.conf:3: = is missing behind the name
    drain-delay
               ^
    hint: write name = value; see spillway.conf(5)  [E191]
EOF
says 1 file $'# x\n[drain]\ndelay = 1s\n' <<'EOF'
spillway: error: @/test.conf:2: there is no such section
    [drain]
    ^^^^^^^
    hint: settings need no section; take the line out; see spillway.conf(5)  [E191]
EOF
says 1 file $'job = "a\n' <<'EOF'
spillway: error: @/test.conf:1: the quote is not closed
    job = "a
          ^
    hint: end the value with a double quote; see spillway.conf(5)  [E191]
EOF
says 1 file $'\ntiers = ram@16\n' <<'EOF'
spillway: error: @/test.conf:2: tiers, tier 1: capacity "16" has no unit
    ram@16
        ^^
    hint: write 16G (1024^3: 17179869184 bytes) or 16GB (1000^3: 16000000000 bytes)  [E103]
EOF
says 1 file $'job = a\njob = b\n' <<'EOF'
spillway: error: @/test.conf:2: job: is already set in line 1
    hint: keep one of the two lines  [E193]
EOF
says 0 file $'drain-dely = 1s\n' <<'EOF'
spillway: warning: @/test.conf:1: drain-dely is not a setting; did you mean drain-delay?  [W105]
EOF
says 1 file $'drain-dely = 1s\nstrict = on\n' <<'EOF'
spillway: error: @/test.conf:1: drain-dely is not a setting; did you mean drain-delay?  [W105]
EOF
says 1 "$spillway" config --config "$scratch/no.conf" <<'EOF'
spillway: error: @/no.conf: cannot be read: No such file or directory
    hint: it is named by --config; check the name and the mode  [E190]
EOF
says 1 env SPILLWAY_CONFIG="$scratch/file.d" "$spillway" config <<'EOF'
spillway: error: @/file.d: cannot be read: Is a directory
    hint: it is named by SPILLWAY_CONFIG; check the name and the mode  [E190]
EOF
echo job=a >"$conf"
chmod 664 "$conf"
says 1 "$spillway" config --config "$conf" <<'EOF'
spillway: error: @/test.conf: others may write it (mode 0664)
    hint: chmod go-w @/test.conf  [E192]
EOF

# The short form.

says 125 env SPILLWAY_TIERS=ram@200Q "$driver" --oneline <<'EOF'
spillway: error: SPILLWAY_TIERS, tier 1: cannot read capacity "200Q"; the program runs without Spillway  [E101]
EOF

exit $bad
