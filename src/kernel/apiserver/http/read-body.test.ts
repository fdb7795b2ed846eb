import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { type Clock, FakeClock, systemClock } from "#lib/base/index.ts";
import { defaultLimits } from "../verbs/limits.ts";
import { LargeBodies, largeBodyBytes } from "./large-bodies.ts";
import { type BodyExchange, type BodyLimits, readBody } from "./read-body.ts";

const kilobyte = 1024;

interface Ask {
  readonly pieces: Iterable<string>;
  readonly headers?: IncomingHttpHeaders;
  readonly bodies?: LargeBodies;
  readonly user?: string;
}

/** An exchange whose body comes in these pieces, and what ends its answer. */
function exchangeOf({
  pieces,
  headers = {},
  bodies = new LargeBodies(defaultLimits, systemClock),
  user = "somebody",
}: Ask) {
  const buffers = (function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  const request = Object.assign(Readable.from(buffers), { headers });
  const response = new EventEmitter();
  const exchange = { request, response, bodies, identity: { user, groups: [] } };
  return { exchange: exchange as unknown as BodyExchange, end: () => response.emit("close") };
}
/** A clock on which time also passes while something runs. */
function busyClock() {
  const clock = new FakeClock();
  let spent = 0;
  const busy: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + spent,
    after: (delay, run) => clock.after(delay, run),
  };
  return { clock, busy, spend: (ms: number) => (spent += ms) };
}
const read = async (ask: Ask, limits: Partial<BodyLimits> = {}) =>
  (await readBody(exchangeOf(ask).exchange, { ...defaultLimits, ...limits })).joined();
const inPieces = (text: string): readonly string[] => text.match(/[^]{1,16384}/g) ?? [];

describe("reading", () => {
  test("puts the pieces together, however they are cut", async () => {
    expect((await read({ pieces: ["{", '"a"', ":1}"] })).toString()).toBe('{"a":1}');
    expect(await read({ pieces: [] })).toHaveLength(0);
    const large = JSON.stringify({ a: "ü".repeat(largeBodyBytes) });
    expect((await read({ pieces: inPieces(large) })).toString()).toBe(large);
  });

  test.each([
    [10, 10, true],
    [11, 10, false],
    [0, 0, true],
    [1, 0, false],
  ])("%d bytes where %d are allowed: %j", async (size, most, isRead) => {
    const body = read({ pieces: ["x".repeat(size)] }, { maxBodyBytes: most });
    if (isRead) expect(await body).toHaveLength(size);
    else
      await expect(body).rejects.toMatchObject({
        code: 413,
        message: `the body of the request is larger than ${most} bytes`,
      });
  });

  test("a body that is announced as too large is refused before a byte of it is read", async () => {
    let pieces = 0;
    const endless = (function* () {
      for (;;) yield String((pieces += 1));
    })();
    const refused = read({ pieces: endless, headers: { "content-length": "1000" } }, { maxBodyBytes: 100 });
    await expect(refused).rejects.toMatchObject({ code: 413 });
    expect(pieces).toBe(0);
  });

  test("one that goes on beyond what was announced is refused on the way", async () => {
    const pieces = Array.from({ length: 100 }, () => "0123456789");
    const refused = read({ pieces, headers: { "content-length": "1" } }, { maxBodyBytes: 50 });
    await expect(refused).rejects.toMatchObject({ code: 413 });
  });

  test("a client that leaves in the middle is no body", async () => {
    const { exchange } = exchangeOf({ pieces: ["{"] });
    const body = readBody(exchange, defaultLimits);
    exchange.request.destroy();
    await expect(body).rejects.toThrow("the client has left");
  });
});

describe("JSON of more than 64 KiB", () => {
  const blanks = " ".repeat(largeBodyBytes);

  test.each([
    ["values", `[${"1,".repeat(60)}1]`, { maxBodyValues: 50 }, "holds more than 50 values"],
    [
      "members of one object",
      JSON.stringify(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n]))),
      { maxObjectMembers: 50 },
      "holds an object with more than 50 members",
    ],
  ])("may not have too many %s", async (_what, text, limits, message) => {
    for (const long of [`${text}${blanks}`, `${blanks}${text}`]) {
      await expect(read({ pieces: inPieces(long) }, limits)).rejects.toMatchObject({
        code: 413,
        message: `the body of the request ${message}`,
      });
    }
    expect(await read({ pieces: [text] }, limits)).toHaveLength(text.length);
  });

  test("that nests too deep is read no further than it needs to be for telling where", async () => {
    let given = 0;
    const pieces = (function* () {
      for (; given < 1000; given += 1) yield "[".repeat(kilobyte);
    })();
    const body = await read({ pieces });
    expect(body.length).toBeGreaterThan(200);
    expect(given).toBeLessThan(200);
  });

  test.each([
    ["a first letter", `a: [${"1,".repeat(largeBodyBytes)}1]`, {}],
    ["its type", `[${"'[',".repeat(largeBodyBytes)}]`, { "content-type": "application/yaml" }],
  ])("is told from YAML by %s", async (_what, text, headers) => {
    expect(await read({ pieces: inPieces(text), headers }, { maxBodyValues: 50 })).toHaveLength(text.length);
  });
});

describe("large bodies together", () => {
  const large = inPieces("x".repeat(100 * kilobyte));

  test("have a bound, and give their room back when they are answered", async () => {
    const bodies = new LargeBodies({ ...defaultLimits, maxLargeBodyBytes: 150 * kilobyte }, systemClock);
    const first = exchangeOf({ pieces: large, bodies });
    await readBody(first.exchange, defaultLimits);
    expect(bodies.bytes).toBe(100 * kilobyte);
    const second = exchangeOf({ pieces: large, bodies });
    await expect(readBody(second.exchange, defaultLimits)).rejects.toMatchObject({
      code: 429,
      details: { retryAfterSeconds: 1 },
    });
    second.end();
    expect(await read({ pieces: ["small"], bodies })).toHaveLength(5);
    first.end();
    expect(bodies.bytes).toBe(0);
    expect(await read({ pieces: large, bodies })).toHaveLength(100 * kilobyte);
  });

  test("of one user leave room for those of others", async () => {
    const bodies = new LargeBodies({ ...defaultLimits, maxLargeBodyBytesPerUser: 250 * kilobyte }, systemClock);
    const ends: (() => void)[] = [];
    const send = async (user: string) => {
      const { exchange, end } = exchangeOf({ pieces: large, bodies, user });
      ends.push(end);
      return (await readBody(exchange, defaultLimits)).size;
    };
    expect([await send("a"), await send("a")]).toEqual([100 * kilobyte, 100 * kilobyte]);
    await expect(send("a")).rejects.toMatchObject({ code: 429 });
    expect(await send("b")).toBe(100 * kilobyte);
    ends.forEach((end) => end());
    expect(bodies.bytes).toBe(0);
    expect(await send("a")).toBe(100 * kilobyte);
  });

  test("count with small ones that come in pieces, whose clients may take their time", async () => {
    const bodies = new LargeBodies({ ...defaultLimits, maxLargeBodyBytes: 150 * kilobyte }, systemClock);
    const small = exchangeOf({ pieces: ["{", " ".repeat(kilobyte - 1)], bodies });
    await readBody(small.exchange, defaultLimits);
    expect(bodies.bytes).toBe(kilobyte);
    small.end();
    expect(bodies.bytes).toBe(0);
  });

  test("are read a piece at a time, and others come in between", async () => {
    const bodies = new LargeBodies(defaultLimits, systemClock);
    let shares = 0;
    const share = bodies.share.bind(bodies);
    bodies.share = (who) => {
      shares += 1;
      return share(who);
    };
    const text = `["${"x".repeat(2 ** 20)}"]`;
    expect((await read({ pieces: inPieces(text), bodies })).toString()).toBe(text);
    expect(shares).toBe(8);
  });

  test("are given one in a turn of the event loop, in their order", async () => {
    const bodies = new LargeBodies(defaultLimits, systemClock);
    const seen: string[] = [];
    const go = async (name: string) => {
      await bodies.turn();
      seen.push(name);
      // Runs before the next turn, as whatever has come meanwhile does.
      setImmediate(() => seen.push(`after ${name}`));
    };
    await Promise.all([go("a"), go("b"), go("c")]);
    expect(seen).toEqual(["a", "after a", "b", "after b", "c"]);
  });

  test("leave the loop to others after they have held it for long", async () => {
    const { clock, busy, spend } = busyClock();
    const bodies = new LargeBodies(defaultLimits, busy);
    const seen: string[] = [];
    const go = async (name: string, heldMs: number) => {
      await bodies.turn();
      seen.push(name);
      spend(heldMs);
    };
    void go("short", 4);
    void go("long", 100);
    void go("endless", 60_000);
    void go("last", 0);
    await clock.advance(0);
    expect(seen).toEqual(["short", "long"]);
    await clock.advance(399);
    expect(seen).toEqual(["short", "long"]);
    await clock.advance(1);
    expect(seen).toEqual(["short", "long", "endless"]);
    await clock.advance(1999);
    expect(seen).toHaveLength(3);
    await clock.advance(1);
    expect(seen).toHaveLength(4);
  });

  test("have a third of the loop at most to be read in when there are several, and one alone has all of it", async () => {
    const { clock, busy, spend } = busyClock();
    const bodies = new LargeBodies(defaultLimits, busy);
    const seen: string[] = [];
    const go = async (name: string, heldMs: number, who: object = {}) => {
      await bodies.share(who);
      seen.push(name);
      spend(heldMs);
    };
    void go("short", 1);
    void go("long", 10);
    void go("last", 0);
    await clock.advance(0);
    expect(seen).toEqual(["short"]);
    await clock.advance(2);
    expect(seen).toEqual(["short", "long"]);
    await clock.advance(19);
    expect(seen).toEqual(["short", "long"]);
    await clock.advance(1);
    expect(seen).toEqual(["short", "long", "last"]);
    const alone = {};
    await go("alone", 10, alone);
    await go("still alone", 10, alone);
    expect(seen).toHaveLength(5);
  });

  test("do not all wait: beyond a number they are asked to come again", async () => {
    const bodies = new LargeBodies(defaultLimits, systemClock);
    const turns = Array.from({ length: 70 }, () => bodies.turn());
    const patient = bodies.turn("patient");
    const outcomes = await Promise.allSettled(turns);
    const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    expect(refused).toHaveLength(6);
    expect(refused[0]).toMatchObject({ code: 429, details: { retryAfterSeconds: 1 } });
    await patient;
    await bodies.turn();
  });
});
