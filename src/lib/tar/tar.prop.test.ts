import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { endOfArchive, paddingAfter, readTar, type TarEntry, TarError, tarHeader } from "./index.ts";

const path = fc
  .array(fc.string({ unit: "binary", minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.map((part) => part.replaceAll(/[/\0]/g, "_")).join("/"));

interface Whole {
  readonly entry: TarEntry;
  readonly body: Buffer;
}

const whole = fc.oneof(
  fc.record({ path, mode: fc.integer({ min: 0, max: 0o7777 }), body: fc.uint8Array({ maxLength: 2000 }) }).map(
    ({ body, ...rest }): Whole => ({
      entry: { ...rest, type: "file", size: body.length },
      body: Buffer.from(body),
    }),
  ),
  fc
    .record({ path, mode: fc.integer({ min: 0, max: 0o7777 }) })
    .map((rest): Whole => ({ entry: { ...rest, type: "directory", size: 0 }, body: Buffer.alloc(0) })),
  fc
    .record({ path, target: path })
    .map((rest): Whole => ({ entry: { ...rest, type: "link", mode: 0o777, size: 0 }, body: Buffer.alloc(0) })),
);

const archiveOf = (all: readonly Whole[]): Buffer =>
  Buffer.concat([
    ...all.flatMap(({ entry, body }) => [tarHeader(entry), body, Buffer.alloc(paddingAfter(body.length))]),
    endOfArchive,
  ]);

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function entriesOf(bytes: AsyncIterable<Buffer>, isReading = true): Promise<readonly Whole[]> {
  const found: Whole[] = [];
  for await (const { body, ...entry } of readTar(bytes)) {
    const chunks: Buffer[] = [];
    if (isReading) for await (const chunk of body) chunks.push(Buffer.from(chunk));
    found.push({ entry, body: Buffer.concat(chunks) });
  }
  return found;
}

describe("an archive", () => {
  it("is read back as it was written, however it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(whole, { maxLength: 6 }), fc.integer({ min: 1, max: 3000 }), async (all, length) => {
        expect(await entriesOf(inPieces(archiveOf(all), length))).toEqual(all);
      }),
    );
  });

  it("can be read without its contents", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(whole, { maxLength: 6 }), async (all) => {
        const found = await entriesOf(inPieces(archiveOf(all), 700), false);
        expect(found.map(({ entry }) => entry)).toEqual(all.map(({ entry }) => entry));
      }),
    );
  });

  it("that is cut off is refused, and never taken for a shorter one", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(whole, { minLength: 1, maxLength: 4 }), fc.nat(), async (all, at) => {
        const bytes = archiveOf(all);
        const cut = bytes.subarray(0, at % (bytes.length - endOfArchive.length));
        await expect(entriesOf(inPieces(cut, 512))).rejects.toThrow(TarError);
      }),
    );
  });

  it("of arbitrary bytes is refused with a sentence", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 2000 }), async (bytes) => {
        fc.pre(bytes.some((byte) => byte !== 0));
        await expect(entriesOf(inPieces(Buffer.from(bytes), 512))).rejects.toThrow(TarError);
      }),
    );
  });
});

it("a file of more than 8 GiB says so in a record", async () => {
  const size = 9 * 1024 ** 3;
  const header = tarHeader({ path: "huge", type: "file", mode: 0o644, size });
  for await (const entry of readTar(inPieces(header, 512))) {
    expect(entry.size).toBe(size);
    break;
  }
});
