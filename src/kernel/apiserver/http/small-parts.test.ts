import { describe, expect, test } from "vitest";
import { defaultLimits } from "../verbs/limits.ts";
import { healthReply } from "./health.ts";
import { InFlight } from "./in-flight.ts";
import { TurnCache } from "./turn-cache.ts";

describe("limits of what is under way", () => {
  test("count each kind of request by itself, and a place is given back once", () => {
    const inFlight = new InFlight({ ...defaultLimits, maxMutatingRequests: 1, maxReadingRequests: 2 });
    const leave = inFlight.enter("mutating", "a");
    expect(() => inFlight.enter("mutating", "b")).toThrow(expect.objectContaining({ code: 429 }));
    inFlight.enter("reading", "a");
    expect(inFlight.counts).toEqual({ mutating: 1, reading: 1, watch: 0 });
    leave();
    leave();
    expect(inFlight.counts.mutating).toBe(0);
    inFlight.enter("mutating", "b");
  });

  test("watches are limited in all and for each user", () => {
    const inFlight = new InFlight({ ...defaultLimits, maxWatches: 3, maxWatchesPerUser: 2 });
    const first = inFlight.enter("watch", "a");
    inFlight.enter("watch", "a");
    expect(() => inFlight.enter("watch", "a")).toThrow(/watches/);
    inFlight.enter("watch", "b");
    expect(() => inFlight.enter("watch", "c")).toThrow(/watches/);
    first();
    inFlight.enter("watch", "a");
  });
});

describe("the cache of a turn", () => {
  test("makes a buffer once for each source and key, and forgets it with the turn", async () => {
    const cache = new TurnCache();
    const [one, two] = [{}, {}];
    let made = 0;
    const make = () => Buffer.from(String((made += 1)));
    const first = cache.get(one, "k", make);
    expect(cache.get(one, "k", make)).toBe(first);
    expect(cache.get(one, "l", make)).not.toBe(first);
    expect(cache.get(two, "k", make)).not.toBe(first);
    expect(made).toBe(3);
    await new Promise((resolve) => setImmediate(resolve));
    expect(cache.get(one, "k", make)).not.toBe(first);
  });
});

describe("health", () => {
  const checks = { good: () => undefined, bad: () => "broken" };
  const reply = (path: string, query = "") => {
    const found = healthReply(path, new URLSearchParams(query), checks);
    return found && { code: found.code, text: String(found.body) };
  };

  test.each([
    ["/livez", "", 200, "ok"],
    ["/healthz", "", 200, "ok"],
    ["/livez", "verbose", 200, "[+]ping ok\nlivez check passed\n"],
    ["/readyz", "", 500, "[+]ping ok\n[+]good ok\n[-]bad failed: broken\nreadyz check failed\n"],
    ["/readyz/good", "", 200, "ok"],
    ["/readyz/ping", "", 200, "ok"],
    ["/readyz/bad", "", 500, "[+]ping ok\n[-]bad failed: broken\nreadyz check failed\n"],
    ["/readyz/none", "", 404, "no such check\n"],
  ])("%s?%s is %d", (path, query, code, text) => {
    expect(reply(path, query)).toEqual({ code, text });
  });

  test.each(["/", "/readyz/", "/readyzz", "/api"])("%s is another matter", (path) => {
    expect(reply(path)).toBeUndefined();
  });
});
