# needs: openssl openssl
# reads: text key
# writes: sealed opened
# openssl: digests, encryption with files and pipes, a signature, a wrong key.
set -u
umask 022
seq 1 30000 >text
openssl dgst -sha256 text
openssl dgst -sha512 -r text
printf secret >key
openssl enc -aes-256-cbc -S 0123456789abcdef -pbkdf2 -pass file:key -in text -out sealed
openssl enc -d -aes-256-cbc -S 0123456789abcdef -pbkdf2 -pass file:key -in sealed -out opened
cmp text opened
openssl enc -base64 -in sealed | openssl enc -d -base64 | cmp - sealed
openssl dgst -sha256 -hmac key text
printf wrong | openssl enc -d -aes-256-cbc -S 0123456789abcdef -pbkdf2 -pass stdin -in sealed >/dev/null 2>&1
echo "openssl ended with $?"
openssl rand 100 | wc -c
openssl dgst -sha256 nothing 2>/dev/null
echo "openssl ended with $?"
