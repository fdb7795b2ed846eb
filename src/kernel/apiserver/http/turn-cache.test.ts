import { describe, expect, test } from "vitest";
import { chunkOf, TurnCache } from "./chunk.ts";

describe("the cache of a turn", () => {
  test("makes a chunk once for each source and key, and forgets it with the turn", async () => {
    const cache = new TurnCache();
    const [one, two] = [{}, {}];
    let made = 0;
    const make = () => chunkOf([Buffer.from(String((made += 1)))]);
    const first = cache.get(one, "k", make);
    expect(cache.get(one, "k", make)).toBe(first);
    expect(cache.get(one, "l", make)).not.toBe(first);
    expect(cache.get(two, "k", make)).not.toBe(first);
    expect(made).toBe(3);
    await new Promise((resolve) => setImmediate(resolve));
    expect(cache.get(one, "k", make)).not.toBe(first);
  });
});
