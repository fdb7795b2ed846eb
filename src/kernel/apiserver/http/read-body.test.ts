import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { readBody } from "./read-body.ts";

/** A request with these headers whose body comes in these pieces. */
const requestOf = (headers: IncomingHttpHeaders, pieces: readonly string[] = []): IncomingMessage =>
  Object.assign(Readable.from(pieces.map((piece) => Buffer.from(piece))), { headers }) as unknown as IncomingMessage;

describe("reading", () => {
  test("puts the pieces together, however they are cut", async () => {
    expect((await readBody(requestOf({}, ["{", '"a"', ":1}"]), 100)).toString()).toBe('{"a":1}');
    expect(await readBody(requestOf({}, []), 100)).toHaveLength(0);
  });

  test.each([
    [10, 10, true],
    [11, 10, false],
    [0, 0, true],
    [1, 0, false],
  ])("%d bytes where %d are allowed: %j", async (size, most, isRead) => {
    const body = readBody(requestOf({}, ["x".repeat(size)]), most);
    if (isRead) expect(await body).toHaveLength(size);
    else
      await expect(body).rejects.toMatchObject({
        code: 413,
        message: `the body of the request is larger than ${most} bytes`,
      });
  });

  test("a body that is announced as too large is refused before a byte of it is read", async () => {
    let pieces = 0;
    const stream = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(10, `${(pieces += 1)}`);
      })(),
    );
    const request = Object.assign(stream, { headers: { "content-length": "1000" } }) as unknown as IncomingMessage;
    await expect(readBody(request, 100)).rejects.toMatchObject({ code: 413 });
    expect(pieces).toBe(0);
  });

  test("one that goes on beyond what was announced is refused on the way", async () => {
    const request = requestOf(
      { "content-length": "1" },
      Array.from({ length: 100 }, () => "0123456789"),
    );
    await expect(readBody(request, 50)).rejects.toMatchObject({ code: 413 });
  });
});
