// The program that keeps a pod's network namespace open. No registry may be needed for it, so it is written down here:
// an ELF file of one segment, statically linked. It lets the kernel reap its children (as the first process of a shared
// process namespace it inherits them all), then sleeps until it is killed.

const elfHeader = 64;
const programHeader = 56;
const codeAt = elfHeader + programHeader;
const loadAt = 0x400000;

interface Machine {
  /** `e_machine` of the ELF specification. */
  readonly number: number;
  readonly code: Buffer;
}

/** kernel_sigaction: handler 1 is SIG_IGN; flags, restorer and mask are zero. */
const ignoreAction = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]);

const amd64 = Buffer.concat([
  Buffer.from("b80d000000", "hex"), //     mov eax, 13 (rt_sigaction)
  Buffer.from("bf11000000", "hex"), //     mov edi, 17 (SIGCHLD)
  Buffer.from("488d3513000000", "hex"), // lea rsi, [rip + 19] (the action)
  Buffer.from("31d2", "hex"), //           xor edx, edx
  Buffer.from("41ba08000000", "hex"), //   mov r10d, 8
  Buffer.from("0f05", "hex"), //           syscall
  Buffer.from("b822000000", "hex"), //     mov eax, 34 (pause)
  Buffer.from("0f05", "hex"), //           syscall
  Buffer.from("ebf7", "hex"), //           jmp to the mov
  ignoreAction,
]);

/** arm64 has no pause(2): ppoll of nothing without a timeout is the same. */
const arm64 = Buffer.concat([
  words([
    move(0, 17), //     SIGCHLD
    0x10000000 | (((12 * 4) >> 2) << 5) | 1, // adr x1, 12 words on (the action)
    move(2, 0),
    move(3, 8),
    move(8, 134), //    rt_sigaction
    0xd4000001, //      svc 0
    move(0, 0),
    move(1, 0),
    move(2, 0),
    move(3, 0),
    move(8, 73), //     ppoll
    0xd4000001, //      svc 0
    0x14000000 | (-6 & 0x3ffffff), // b 6 words back
  ]),
  ignoreAction,
]);

/** `movz Xd, #value` */
function move(register: number, value: number): number {
  return 0xd2800000 + (value << 5) + register;
}

function words(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUInt32LE(value >>> 0, 4 * index));
  return bytes;
}

const machines: Readonly<Record<string, Machine>> = {
  amd64: { number: 62, code: amd64 },
  x86_64: { number: 62, code: amd64 },
  arm64: { number: 183, code: arm64 },
  aarch64: { number: 183, code: arm64 },
};

/** Undefined for an unsupported processor. */
export function pauseProgram(architecture: string): Buffer | undefined {
  const machine = machines[architecture];
  if (machine === undefined) return undefined;
  const size = codeAt + machine.code.length;
  const file = Buffer.alloc(codeAt);
  file.write("\x7fELF\x02\x01\x01", 0, "latin1"); // 64 bits, little-endian, version 1
  file.writeUInt16LE(2, 16); // ET_EXEC
  file.writeUInt16LE(machine.number, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(loadAt + codeAt), 24); // where it begins
  file.writeBigUInt64LE(BigInt(elfHeader), 32);
  file.writeUInt16LE(elfHeader, 52);
  file.writeUInt16LE(programHeader, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(1, elfHeader); // PT_LOAD
  file.writeUInt32LE(5, elfHeader + 4); // read and execute
  file.writeBigUInt64LE(BigInt(loadAt), elfHeader + 16);
  file.writeBigUInt64LE(BigInt(loadAt), elfHeader + 24);
  file.writeBigUInt64LE(BigInt(size), elfHeader + 32);
  file.writeBigUInt64LE(BigInt(size), elfHeader + 40);
  file.writeBigUInt64LE(0x10000n, elfHeader + 48); // larger than any page
  return Buffer.concat([file, machine.code]);
}

/** A ustar archive of one file of root's, of 1970, always the same bytes. `name` has at most 99 bytes. */
export function tarOf(name: string, content: Buffer, mode: number): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, at: number, width: number) =>
    header.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, "latin1");
  header.write(name, 0, "latin1");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content.length, 124, 12);
  octal(0, 136, 12);
  header.write("0", 156, "latin1"); // an ordinary file
  header.write("ustar\x0000", 257, "latin1");
  // The checksum counts its own field as spaces.
  header.fill(0x20, 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, content, padding, Buffer.alloc(1024)]);
}
