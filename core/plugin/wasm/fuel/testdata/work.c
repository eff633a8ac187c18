// Work for the tests and the figures of metering, one kind of code each: tight
// loops, straight arithmetic, calls, a bytecode interpreter, floats, and copies.
// work.wasm is built from it: go generate ./core/plugin/wasm/fuel

#define EXPORT(name) __attribute__((export_name(#name)))
typedef unsigned int u32;
typedef unsigned char u8;

static u8 bytes[1 << 16];

// sieve counts the primes below n, at most 65536.
EXPORT(sieve) u32 sieve(u32 n) {
  u32 count = 0;
  for (u32 i = 0; i < n; i++) bytes[i] = 1;
  for (u32 i = 2; i < n; i++) {
    if (!bytes[i]) continue;
    count++;
    for (u32 j = i * 2; j < n; j += i) bytes[j] = 0;
  }
  return count;
}

static const u32 K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static u32 rotate(u32 x, int n) { return x >> n | x << (32 - n); }

// sha256 compresses n blocks and returns the first word of the state.
EXPORT(sha256) u32 sha256(u32 n) {
  u32 h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (u32 block = 0; block < n; block++) {
    u32 w[64], s[8];
    for (int i = 0; i < 16; i++) w[i] = block + i;
    for (int i = 16; i < 64; i++) {
      u32 a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++) s[i] = h[i];
    for (int i = 0; i < 64; i++) {
      u32 t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[i] + w[i];
      u32 t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      for (int j = 7; j > 0; j--) s[j] = s[j - 1];
      s[4] += t1;
      s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) h[i] += s[i];
  }
  return h[0];
}

// fibonacci calls itself.
EXPORT(fibonacci) __attribute__((noinline)) u32 fibonacci(u32 n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// interpret runs a small program n times.
EXPORT(interpret) u32 interpret(u32 n) {
  enum { PUSH, ADD, MUL, XOR, DUP, SWAP, DROP, SHIFT, NOT, SUB, LOOP, END };
  static const u8 program[] = {PUSH, 7, DUP, MUL, PUSH, 3, ADD, DUP, SHIFT, XOR, PUSH, 9, SWAP, SUB, NOT, ADD, LOOP, END};
  u32 stack[16] = {1}, top = 0, pc = 0;
  for (;;) {
    switch (program[pc++]) {
      case PUSH: stack[++top & 15] = program[pc++]; break;
      case ADD: top--; stack[top & 15] += stack[(top + 1) & 15]; break;
      case SUB: top--; stack[top & 15] -= stack[(top + 1) & 15]; break;
      case MUL: top--; stack[top & 15] *= stack[(top + 1) & 15]; break;
      case XOR: top--; stack[top & 15] ^= stack[(top + 1) & 15]; break;
      case DUP: top++; stack[top & 15] = stack[(top - 1) & 15]; break;
      case SWAP: {
        u32 x = stack[top & 15];
        stack[top & 15] = stack[(top - 1) & 15];
        stack[(top - 1) & 15] = x;
        break;
      }
      case DROP: top--; break;
      case SHIFT: stack[top & 15] >>= 5; break;
      case NOT: stack[top & 15] = ~stack[top & 15]; break;
      case LOOP:
        if (n-- > 0) pc = 0;
        break;
      default: return stack[top & 15];
    }
  }
}

// matrix multiplies matrices of 32 × 32 floats n times.
EXPORT(matrix) double matrix(u32 n) {
  static double a[32][32], b[32][32], c[32][32];
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 32; j++) a[i][j] = i + j, b[i][j] = i - j;
  for (u32 k = 0; k < n; k++)
    for (int i = 0; i < 32; i++)
      for (int j = 0; j < 32; j++) {
        double sum = 0;
        for (int l = 0; l < 32; l++) sum += a[i][l] * b[l][j];
        c[i][j] += sum;
      }
  return c[3][5];
}

// copy fills and copies length bytes n times, with memory.fill and memory.copy.
EXPORT(copy) u32 copy(u32 n, u32 length) {
  for (u32 i = 0; i < n; i++) {
    __builtin_memset(bytes, i, length);
    __builtin_memcpy(bytes + length, bytes, length);
  }
  return bytes[length];
}

// words counts the words of a text that it writes first, byte by byte.
EXPORT(words) u32 words(u32 n) {
  u32 count = 0;
  for (u32 i = 0; i < n; i++) bytes[i & 0xffff] = "a quick brown fox,\tjumps over\nthe lazy dog. "[i % 45];
  int inside = 0;
  for (u32 i = 0; i < n; i++) {
    u8 b = bytes[i & 0xffff];
    if (b == ' ' || b == '\t' || b == '\n') {
      inside = 0;
    } else if (!inside) {
      inside = 1;
      count++;
    }
  }
  return count;
}
