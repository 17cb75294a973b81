// The connection of a socket, so that its two ends can be joined: for a local socket the inode of the other end, for an
// Internet socket both addresses.
#include "rows.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/un.h>

// ---- the other end of a local socket: only the kernel's list of sockets has it

static uint64_t peer_in(const char *reply, long size) {
    struct nlmsghdr head;
    if (size < (long)(sizeof head + sizeof(struct unix_diag_msg))) return 0;
    memcpy(&head, reply, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len > size) return 0;
    const char *at = reply + NLMSG_LENGTH(sizeof(struct unix_diag_msg)), *end = reply + head.nlmsg_len;
    struct rtattr part;
    for (; at + sizeof part <= end; at += RTA_ALIGN(part.rta_len)) {
        uint32_t peer;
        memcpy(&part, at, sizeof part);
        if (part.rta_len < sizeof part) break;
        if (part.rta_type != UNIX_DIAG_PEER || part.rta_len < RTA_LENGTH(sizeof peer)) continue;
        memcpy(&peer, at + RTA_LENGTH(0), sizeof peer);
        return peer;
    }
    return 0;
}

// Returns 0 if the connection is not accepted yet, or the other end is closed.
static uint64_t unix_peer(uint64_t inode) {
    struct {
        struct nlmsghdr head;
        struct unix_diag_req body;
    } request = {
        {sizeof request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0},
        {.sdiag_family = AF_UNIX,
         .udiag_states = UINT32_MAX,
         .udiag_ino = (uint32_t)inode,
         .udiag_show = UDIAG_SHOW_PEER,
         .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    char reply[512];
    long fd = RAW(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return 0;
    long size = RAW(sendto, fd, (long)&request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    if (size > 0) size = RAW(recvfrom, fd, (long)reply, sizeof reply, MSG_DONTWAIT, 0, 0);
    RAW(close, fd);
    return peer_in(reply, size);
}

static void unix_read(int fd, struct object *object, const struct sockaddr_un *own, socklen_t own_size) {
    struct connection *connection = &object->connection;
    struct sockaddr_un other;
    struct ucred peer = {0};
    socklen_t size = sizeof other, peer_size = sizeof peer;
    const struct sockaddr_un *named = own;
    if (own_size <= offsetof(struct sockaddr_un, sun_path)) { // a client: it knows the server's name
        named = RAW(getpeername, fd, (long)&other, (long)&size) == 0 ? &other : NULL;
        own_size = size;
    }
    size_t start = offsetof(struct sockaddr_un, sun_path);
    size_t length = named == NULL || own_size <= start ? 0 : own_size - start;
    // for a name without a final zero, the kernel's size includes one
    if (length > sizeof named->sun_path) length = sizeof named->sun_path;
    if (length > 0) {
        bool abstract = named->sun_path[0] == '\0';
        while (!abstract && length > 0 && named->sun_path[length - 1] == '\0') length--;
        memcpy(connection->path, named->sun_path, length);
        if (abstract) connection->path[0] = '@';
        connection->path[length] = '\0';
        object->path = connection->path;
        object->path_length = (uint32_t)length;
        object->plain = text_plain(connection->path, length);
    }
    if (connection->peer_inode == 0) connection->peer_inode = unix_peer(object->facts.inode);
    if (connection->peer_inode == 0 && RAW(getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&peer_size) == 0)
        connection->peer_pid = (uint32_t)peer.pid;
}

static void address_read(struct address *address, const struct sockaddr_storage *from) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)from;
        memcpy(address->bytes, mapped, sizeof mapped);
        memcpy(address->bytes + sizeof mapped, &four->sin_addr, 4);
        address->port = ntohs(four->sin_port);
    } else {
        const struct sockaddr_in6 *six = (const void *)from;
        memcpy(address->bytes, &six->sin6_addr, 16);
        address->port = ntohs(six->sin6_port);
    }
}

void connection_read(int fd, struct object *object) {
    struct sockaddr_storage own, other;
    struct connection *connection = &object->connection;
    socklen_t size = sizeof own, other_size = sizeof other;
    if (connection->family != 0 || RAW(getsockname, fd, (long)&own, (long)&size) != 0 || size > sizeof own) return;
    if (own.ss_family == AF_UNIX) {
        connection->family = AF_UNIX;
        unix_read(fd, object, (const void *)&own, size);
    } else if (own.ss_family == AF_INET || own.ss_family == AF_INET6) {
        bool connected = RAW(getpeername, fd, (long)&other, (long)&other_size) == 0 && other_size <= sizeof other;
        if (!connected || other.ss_family != own.ss_family) return;
        connection->family = own.ss_family;
        address_read(&connection->local, &own);
        address_read(&connection->peer, &other);
    }
}

// ---- as text

static void text_address(struct text *text, const struct address *address) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const char digits[] = "0123456789abcdef";
    bool four = memcmp(address->bytes, mapped, sizeof mapped) == 0;
    if (!four) TEXT(text, "[");
    for (int i = four ? 12 : 0; i < 16; i++) {
        const uint8_t byte = address->bytes[i], *pair = &address->bytes[i & ~1];
        if (four) {
            if (i > 12) TEXT(text, ".");
            text_number(text, byte);
        } else {
            if (i > 0 && i % 2 == 0) TEXT(text, ":");
            if (pair[0] >= 16 && i % 2 == 0) text_bytes(text, &digits[byte >> 4], 1);
            if (pair[0] > 0 && i % 2 == 0) text_bytes(text, &digits[byte & 15], 1);
            if (i % 2 == 1 && (pair[0] > 0 || byte >= 16)) text_bytes(text, &digits[byte >> 4], 1);
            if (i % 2 == 1) text_bytes(text, &digits[byte & 15], 1);
        }
    }
    if (!four) TEXT(text, "]");
    TEXT(text, ":");
    text_number(text, address->port);
}

void text_connection(struct text *text, const struct connection *connection) {
    if (connection->family == AF_UNIX) {
        if (connection->peer_inode != 0) TEXT_NUMBER(text, TERM_peerInode, connection->peer_inode);
        if (connection->peer_pid != 0) TEXT_NUMBER(text, TERM_peerPid, connection->peer_pid);
    } else if (connection->family >= FAMILY_MASTER) {
        text_terminal(text, connection);
    } else if (connection->family != 0) {
        TEXT(text, " ; " TERM_localAddress " \"");
        text_address(text, &connection->local);
        TEXT(text, "\" ; " TERM_peerAddress " \"");
        text_address(text, &connection->peer);
        TEXT(text, "\"");
    }
}

// ---- the calls

// From here on the socket is an end of a new connection, which is recorded immediately: a server accepts connections in
// the order in which they were made, and the other end may be closed before the first use.
static void made(int fd) {
    object_forget(fd);
    object_of(fd);
}

static int connected(int fd, int result) {
    if (result == 0) made(fd);
    if (result != 0 && errno == EINPROGRESS) object_forget(fd);
    return result;
}

int provio_connect(int fd, const void *address, socklen_t length) {
    int result = REAL(connect)(fd, address, length);
    return watching() ? connected(fd, result) : result;
}

int provio___connect(int fd, const void *address, socklen_t length) {
    int result = REAL(__connect)(fd, address, length);
    return watching() ? connected(fd, result) : result;
}

static int accepted(int fd) {
    if (fd >= 0 && watching()) made(fd);
    return fd;
}

int provio_accept(int fd, void *address, void *length) {
    return accepted(REAL(accept)(fd, address, length));
}

int provio_accept4(int fd, void *address, void *length, int flags) {
    return accepted(REAL(accept4)(fd, address, length, flags));
}

int provio_socketpair(int domain, int type, int protocol, int fds[2]) {
    struct thread *thread = watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    int result = REAL(socketpair)(domain, type, protocol, fds);
    if (result == 0 && thread != NULL) object_pair(API_socketpair, fds, started);
    return result;
}

// ---- descriptors received in a message: their numbers have no other opening now

void message_taken(const struct msghdr *message) {
    struct cmsghdr *part = message->msg_controllen == 0 ? NULL : CMSG_FIRSTHDR(message);
    for (; part != NULL; part = CMSG_NXTHDR((struct msghdr *)message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            object_forget(fd);
        }
    }
}
