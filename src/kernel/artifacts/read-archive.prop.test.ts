import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { pack } from "tar-stream";
import { describe, expect, it } from "vitest";
import { ArtifactError } from "./errors.ts";
import { type ArchiveEntry, readArchive } from "./read-archive.ts";
import { makeTar, type Whole } from "./testing/index.ts";

const path = fc
  .array(fc.string({ unit: "binary", minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.map((part) => part.replaceAll(/[/\0]/g, "_")).join("/"));
const rights = fc.integer({ min: 0, max: 0o777 });

const file = fc
  .record({ name: path, mode: rights, body: fc.uint8Array({ maxLength: 2000 }) })
  .map(({ body, ...rest }): Whole => ({ ...rest, type: "file", body: Buffer.from(body) }));
const directory = fc.record({ name: path, mode: rights }).map((rest): Whole => ({ ...rest, type: "directory" }));
const link = fc
  .record({ name: path, linkname: path })
  .map((rest): Whole => ({ ...rest, type: "symlink", mode: 0o777 }));
const whole = fc.oneof(file, directory, link);

/** What is found again of it. */
const found = ({ name, type, mode = 0, linkname = "", body = Buffer.alloc(0) }: Whole) => ({
  path: name,
  type,
  mode,
  size: body.length,
  target: linkname,
  body,
});

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

type Read = Omit<ArchiveEntry, "body"> & { readonly body: Buffer };

async function entriesOf(tar: Buffer, length = 512): Promise<readonly Read[]> {
  const all: Read[] = [];
  await readArchive(inPieces(gzipSync(tar, { level: 0 }), length), async ({ body, ...entry }) => {
    const chunks: Buffer[] = [];
    if (entry.type === "file") for await (const chunk of body) chunks.push(Buffer.from(chunk as Buffer));
    all.push({ ...entry, body: Buffer.concat(chunks) });
  });
  return all;
}

describe("an archive", () => {
  it("is read back as it was written, however it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(whole, { maxLength: 6 }), fc.integer({ min: 1, max: 3000 }), async (all, length) => {
        expect(await entriesOf(await makeTar(all), length)).toEqual(all.map(found));
      }),
    );
  });

  it("that is cut off anywhere is refused, and never taken for a shorter one", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(whole, { minLength: 1, maxLength: 4 }), fc.nat(), async (all, at) => {
        const bytes = await makeTar(all);
        await expect(entriesOf(bytes.subarray(0, at % bytes.length))).rejects.toThrow(ArtifactError);
      }),
    );
  });

  it("that is cut off after zeros of a file is not taken for a whole one", async () => {
    const bytes = await makeTar([{ name: "zeros", type: "file", body: Buffer.alloc(4096) }]);
    for (let length = 512; length < bytes.length; length += 512)
      await expect(entriesOf(bytes.subarray(0, length)), `${length} bytes`).rejects.toThrow("cannot be read");
  });

  it("of arbitrary bytes is refused with a sentence", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 2000 }), async (bytes) => {
        fc.pre(bytes.some((byte) => byte !== 0));
        await expect(entriesOf(Buffer.from(bytes))).rejects.toThrow("the archive cannot be read: ");
      }),
    );
  });

  it("with a damaged header is refused", async () => {
    const bytes = await makeTar([{ name: "a", type: "file", body: Buffer.from("text") }]);
    await fc.assert(
      fc.asyncProperty(fc.nat(511), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        // Its sum is not part of it.
        fc.pre(at < 148 || at >= 156);
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ change;
        await expect(entriesOf(damaged)).rejects.toThrow("the archive cannot be read: Invalid tar header");
      }),
    );
  });
});

describe("an entry", () => {
  it.each(["link", "character-device", "block-device", "fifo", "contiguous-file"] as const)(
    "of type %s is refused",
    async (type) => {
      const bytes = await makeTar([{ name: "odd", type, linkname: "a" }]);
      await expect(entriesOf(bytes)).rejects.toThrow(
        '"odd" of the archive is neither a file nor a directory nor a symbolic link',
      );
    },
  );

  it("of a type that nobody knows is refused", async () => {
    const bytes = await makeTar([{ name: "odd", type: "file", body: Buffer.from("text") }]);
    bytes.write("Z", 156, "latin1");
    const sum = bytes.subarray(0, 512).reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 0x20 : byte), 0);
    bytes.write(sum.toString(8).padStart(6, "0"), 148, "latin1");
    await expect(entriesOf(bytes)).rejects.toThrow('"odd" of the archive is neither a file');
  });

  it("of more than 8 GiB is not taken for a shorter one", async () => {
    const archive = pack();
    const size = 9 * 1024 ** 3;
    archive.entry({ name: "huge", type: "file", size, mtime: new Date(0) }).on("error", () => undefined);
    for await (const header of archive) {
      const bytes = Buffer.concat([header as Buffer, Buffer.alloc(8192)]);
      await expect(entriesOf(bytes)).rejects.toThrow("the archive cannot be read: Unexpected end of data");
      break;
    }
  });
});

it("what an entry's reader throws is thrown as it is, when the source is closed", async () => {
  let isClosed = false;
  const bytes = gzipSync(await makeTar([{ name: "big", type: "file", body: Buffer.alloc(3_000_000, 1) }]), {
    level: 0,
  });
  async function* source(): AsyncGenerator<Buffer> {
    try {
      yield* inPieces(bytes, 10_000);
    } finally {
      await new Promise((resolve) => setImmediate(resolve));
      isClosed = true;
    }
  }
  const mine = new Error("mine");
  await expect(readArchive(source(), () => Promise.reject(mine))).rejects.toBe(mine);
  expect(isClosed).toBe(true);
});

it("what the source throws is thrown as it is, even at its end", async () => {
  const mine = new Error("damaged");
  const bytes = gzipSync(await makeTar([{ name: "a", type: "directory" }]));
  async function* source(): AsyncGenerator<Buffer> {
    yield bytes;
    throw mine;
  }
  await expect(readArchive(source(), () => Promise.resolve())).rejects.toBe(mine);
});
