import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import {
  containsAddress,
  containsNetwork,
  formatNetwork,
  maskNetwork,
  parseAddress,
  parseNetwork,
} from "./addresses.ts";
import { evaluate } from "./testing/evaluate.ts";

const textOf = (source: string, bindings: JsonObject): string => {
  const value = valueOf(source, bindings);
  return typeof value === "string" ? value : JSON.stringify(value);
};
const valueOf = (source: string, bindings: JsonObject): JsonValue => {
  const result = evaluate(source, bindings, 10_000_000);
  if (!result.ok) throw new Error(result.error);
  return result.value;
};

const network = fc
  .oneof(
    fc.tuple(fc.constant<4>(4), fc.bigInt(0n, 2n ** 32n - 1n), fc.nat(32)),
    // Above the range of IPv4-mapped addresses, which do not exist here.
    fc.tuple(fc.constant<6>(6), fc.bigInt(2n ** 48n, 2n ** 128n - 1n), fc.nat(128)),
  )
  .map(([family, bits, prefix]) => ({ address: { family, bits }, prefix }));

test("a network survives writing and reading", () => {
  fc.assert(
    fc.property(network, (given) => {
      expect(parseNetwork(formatNetwork(given))).toEqual(given);
    }),
  );
});

test("a network contains its address, itself, its masked form, and what is longer than it", () => {
  fc.assert(
    fc.property(network, fc.nat(128), (given, longer) => {
      expect(containsAddress(given, given.address)).toBe(true);
      expect(containsNetwork(given, given) && containsNetwork(given, maskNetwork(given))).toBe(true);
      expect(maskNetwork(maskNetwork(given))).toEqual(maskNetwork(given));
      const inner = {
        address: given.address,
        prefix: Math.min(given.prefix + longer, given.address.family === 4 ? 32 : 128),
      };
      expect(containsNetwork(given, inner)).toBe(true);
      expect(containsNetwork(inner, given)).toBe(inner.prefix === given.prefix);
    }),
  );
});

test("a network contains an address exactly when their first bits agree", () => {
  fc.assert(
    fc.property(network, network, (a, b) => {
      const width = a.address.family === 4 ? 32 : 128;
      const firstBits = (bits: bigint) => bits.toString(2).padStart(width, "0").slice(0, a.prefix);
      const agree = a.address.family === b.address.family && firstBits(a.address.bits) === firstBits(b.address.bits);
      expect(containsAddress(a, b.address)).toBe(agree);
    }),
  );
});

test("no text makes the readers of addresses throw, and what they read they would write", () => {
  const text = fc.array(fc.constantFrom("1", "0", "ff", "255", "a", ":", "::", ".", "/", "%", "64"), { maxLength: 12 });
  fc.assert(
    fc.property(text, (parts) => {
      const address = parseAddress(parts.join(""));
      const parsed = parseNetwork(parts.join(""));
      if (parsed !== undefined) expect(parseNetwork(formatNetwork(parsed))).toEqual(parsed);
      if (address !== undefined) expect(parseNetwork(`${parts.join("")}/0`)?.address).toEqual(address);
    }),
    { numRuns: runs(2_000) },
  );
});

test("the parts of a URL put together are the URL", () => {
  const name = fc.stringMatching(/^[a-z]{1,5}$/);
  const url = fc.record({
    scheme: name,
    host: name,
    port: fc.nat(65_535),
    path: fc.array(fc.string({ unit: fc.constantFrom("a", "%20", "ä", " ", "(", "~") }), { maxLength: 3 }),
    query: fc.array(fc.tuple(name, fc.string({ unit: fc.constantFrom("a", "&", "=", "ä", " ", "+") })), {
      maxLength: 4,
    }),
  });
  fc.assert(
    fc.property(url, ({ scheme, host, port, path, query }) => {
      const written = query.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
      const text = `${scheme}://${host}:${port}/${path.join("/")}?${written}#end`;
      const source =
        "[url(text).getScheme(), url(text).getHost(), url(text).getHostname() + ':' + url(text).getPort(), url(text).getEscapedPath()]";
      const parts = valueOf(source, { text });
      const [, , , escaped] = Array.isArray(parts) ? parts : [];
      expect(parts).toEqual([scheme, `${host}:${port}`, `${host}:${port}`, expect.stringMatching(/^[\x21-\x7e]*$/)]);
      expect(decodeURIComponent(String(escaped))).toBe(`/${path.join("/").replaceAll("%20", " ")}`);
      const expected: Record<string, string[]> = {};
      for (const [key, value] of query) (expected[key] ??= []).push(value);
      expect(valueOf("url(text).getQuery()", { text })).toEqual(expected);
    }),
    { numRuns: runs(200) },
  );
});

test("sums, extremes and places are those of the list", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 20 }), (self) => {
      const [first = 0] = self;
      expect(
        valueOf("[self.sum(), self.min(), self.max(), self.indexOf(self[0]), self.lastIndexOf(self[0])]", { self }),
      ).toEqual([
        self.reduce((sum, item) => sum + item, 0),
        Math.min(...self),
        Math.max(...self),
        0,
        self.lastIndexOf(first),
      ]);
    }),
    { numRuns: runs(200) },
  );
});

test("integers survive every base, and doubles the digits that are asked for", () => {
  fc.assert(
    fc.property(
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, min: -1e20, max: 1e20 }),
      fc.nat(20),
      (integer, real, digits) => {
        const self = { integer, real: real === 0 ? 0.5 : real };
        const bases = [
          ["b", 2],
          ["o", 8],
          ["x", 16],
          ["X", 16],
          ["d", 10],
        ] as const;
        for (const [verb, base] of bases) {
          expect(Number.parseInt(textOf(`'%${verb}'.format([self.integer])`, { self }), base)).toBe(integer);
        }
        expect(valueOf(`'%.${digits}f'.format([self.real])`, { self })).toBe(self.real.toFixed(digits));
        const scientific = textOf("'%.16e'.format([self.real])", { self });
        expect(Number(scientific)).toBe(self.real);
        expect(scientific).toMatch(/^-?\d\.\d{16}e[+-]\d\d+$/);
      },
    ),
    { numRuns: runs(200) },
  );
});
