import { expect, test } from "vitest";
import { canonicalFormats } from "./formats.ts";
import { formatChecks, isBase64 } from "./index.ts";

const good: Readonly<Record<string, readonly string[]>> = {
  "date-time": ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123+02:00"],
  "kubernetes-time": ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+02:00"],
  "kubernetes-micro-time": ["2026-01-31T12:00:00.000000Z", "2026-01-31T12:00:00.123456+02:00"],
  "kubernetes-quantity": ["1Gi", "500m", "-2", "1e3"],
  date: ["2026-01-31", "2024-02-29"],
  datetime: ["2026-01-31T12:00:00Z"],
  duration: ["3 days", "P1D", "1h30m", "0", "1.5s"],
  byte: ["", "YQ==", "YWI=", "YWJj", "YW\nJj"],
  uuid: ["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"],
  uuid3: ["123e4567-e89b-32d3-a456-426614174000"],
  uuid4: ["123e4567-e89b-42d3-A456-426614174000"],
  uuid5: ["123e4567e89b52d3b456426614174000"],
  bsonobjectid: ["507f1f77bcf86cd799439011"],
  hexcolor: ["#fff", "00FF00"],
  rgbcolor: ["rgb(0,153,255)", "rgb( 1, 22 ,33)"],
  ssn: ["111-22-3333", "111 22 3333"],
  ipv4: ["010.0.0.1", "::ffff:1.2.3.4", "0.0.0.0", "255.255.255.255"],
  ipv6: ["::", "::1", "2001:db8::8a2e:370:7334", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1"],
  cidr: ["10.0.0.0/8", "::/0", "2001:db8::/128"],
  uri: ["https://example.org/a?b#c", "urn:x:y", "/path"],
  email: ["a@b", "first.last@example.org"],
  hostname: ["localhost", "a.b-c.example.org"],
  mac: ["0011.2233.4455", "00:11:22:33:44:55:66:77", "00:1b:44:11:3a:b7", "00-1B-44-11-3A-B7"],
};
const bad: Readonly<Record<string, readonly string[]>> = {
  "date-time": ["2026-01-31", "2026-01-31 12:00:00Z", "2026-13-01T00:00:00Z"],
  "kubernetes-time": ["2026-01-31", "yesterday"],
  "kubernetes-micro-time": ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123Z", "2026-01-31T12:00:00.1234567Z"],
  "kubernetes-quantity": ["", "many", "1 Gi"],
  date: ["2026-1-31", "2025-02-29", "2026-04-31", "2026-00-10"],
  datetime: ["yesterday"],
  duration: ["1 fortnight", "5", "", "days"],
  byte: ["YQ", "Y===", "YQ==YQ==", "Y!=="],
  uuid: ["123e4567", "123e4567-e89b-12d3-a456-42661417400g"],
  uuid3: ["123e4567-e89b-42d3-a456-426614174000"],
  uuid4: ["123e4567-e89b-42d3-c456-426614174000"],
  uuid5: ["123e4567-e89b-42d3-a456-426614174000"],
  bsonobjectid: ["507f1f77bcf86cd79943901"],
  hexcolor: ["#ffff", "red"],
  rgbcolor: ["rgb(256,0,0)", "rgb(0,0)"],
  ssn: ["11-22-3333"],
  ipv4: ["256.0.0.1", "1.2.3", "1.2.3.4 "],
  ipv6: ["1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "10.0.0.1", "::1.2.3"],
  cidr: ["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/0008", "/8"],
  uri: ["http://%zz", "not a uri", "example.org", ""],
  email: ["a", "a@", "@b", "a b@c"],
  hostname: ["-a", "a_b", "a..b", `${"a".repeat(64)}.org`, ""],
  mac: ["00:1b:44:11:3a", "00:1b-44:11:3a:b7"],
};
const rows = (texts: typeof good) =>
  Object.entries(texts).flatMap(([format, values]) => values.map((text) => [format, text] as const));

test.each(rows(good))("a %s may be %j", (format, text) => {
  expect(formatChecks.get(format)?.(text)).toBeUndefined();
});

test.each(rows(bad))("a %s may not be %j", (format, text) => {
  expect(formatChecks.get(format)?.(text)).toMatch(/^must/);
});

test("every format that is checked is in these tables", () => {
  expect([...formatChecks.keys()].sort()).toEqual(Object.keys(good).sort());
  expect(Object.keys(bad)).toEqual(Object.keys(good));
});

test("base64 of a megabyte is checked without recursion", () => {
  expect(isBase64("YWJj".repeat(350_000))).toBe(true);
  expect(isBase64(`${"YWJj".repeat(350_000)}!`)).toBe(false);
});

test.each([
  ["kubernetes-time", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"],
  ["kubernetes-time", "2026-01-31T12:00:00.999Z", "2026-01-31T12:00:00Z"],
  ["kubernetes-quantity", "1000m", "1"],
  ["kubernetes-quantity", "0.5", "500m"],
  ["kubernetes-quantity", "1024Mi", "1Gi"],
  ["kubernetes-quantity", "many", undefined],
  ["kubernetes-time", "2026-01-31T01:30:00+02:00", "2026-01-30T23:30:00Z"],
  ["kubernetes-time", "yesterday", undefined],
  ["kubernetes-time", "2026-01-31Tzz:00:00Z", undefined],
  ["kubernetes-micro-time", "2026-01-31T12:00:00.123456Z", "2026-01-31T12:00:00.123456Z"],
  ["kubernetes-micro-time", "2026-01-31T01:30:00.000001+02:00", "2026-01-30T23:30:00.000001Z"],
  ["kubernetes-micro-time", "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"],
  ["kubernetes-micro-time", "2026-01-31T12:00:00Z", undefined],
])("the canonical form in %s of %s is %s", (format, text, expected) => {
  expect(canonicalFormats.get(format)?.(text)).toBe(expected);
});
