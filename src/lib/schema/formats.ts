import { formatTime, parseDuration, parseInstant } from "#lib/base/index.ts";
import { formatQuantity, parseQuantity } from "#lib/text/index.ts";

/** Says what a text of a format must be, or undefined when it is one. */
export type FormatCheck = (text: string) => string | undefined;

/** The length is bounded before the pattern runs; no text of these formats comes near it. */
const matching =
  (pattern: RegExp, expected: string): FormatCheck =>
  (text) =>
    text.length <= 4_096 && pattern.test(text) ? undefined : expected;

/** For formats that a pattern alone cannot tell. */
const byTest =
  (isValid: (text: string) => boolean, expected: string): FormatCheck =>
  (text) =>
    isValid(text) ? undefined : expected;

/** 0 to 255. Leading zeros mean nothing, as in the parser that Kubernetes keeps for what was stored long ago. */
const octet = "0*(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4Pattern = new RegExp(`^${octet}(?:\\.${octet}){3}$`);
const isIpv4 = (text: string): boolean => text.length <= 64 && ipv4Pattern.test(text);
/** RFC 4291 section 2.5.5.2: an IPv4 address written as IPv6 is one. */
const isMappedIpv4 = (text: string): boolean => /^::ffff:/i.test(text) && isIpv4(text.slice(7));

/** RFC 4291 section 2.2: eight groups or one `::`, the last two possibly as IPv4. No zone (`%eth0`). */
function isIpv6(text: string): boolean {
  if (text.length > 45 || !text.includes(":")) return false;
  const tail = text.slice(text.lastIndexOf(":") + 1);
  // An IPv4 tail stands for the last two groups.
  const head = tail.includes(".") ? (isIpv4(tail) ? `${text.slice(0, -tail.length)}0:0` : undefined) : text;
  if (head === undefined) return false;
  const halves = head.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const counted = halves.length === 2 ? groups.length <= 7 : groups.length === 8;
  return counted && groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group));
}

/** RFC 4632 and 4291 section 2.3; bits below the prefix may be set, as Go's parser allows. */
function isCidr(text: string): boolean {
  const slash = text.indexOf("/");
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)];
  if (slash < 0 || text.length > 64 || !/^\d{1,3}$/.test(bits)) return false;
  return isIpv4(address) ? Number(bits) <= 32 : isIpv6(address) && Number(bits) <= 128;
}

/** RFC 4648 section 4. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Standard base64 with padding; line breaks are ignored, as Go's decoder does. */
export const isBase64 = (text: string): boolean =>
  base64.test(/[\r\n]/.test(text) ? text.replace(/[\r\n]/g, "") : text);

/** Of the Gregorian calendar, also for years before it was introduced, as RFC 3339 counts. */
const daysIn = (year: number, month: number): number =>
  month === 2
    ? year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      ? 29
      : 28
    : [4, 6, 9, 11].includes(month)
      ? 30
      : 31;

/** `full-date` of RFC 3339: the day must exist. */
function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number);
  return (
    month !== undefined && month >= 1 && month <= 12 && day !== undefined && day >= 1 && day <= daysIn(year ?? 0, month)
  );
}

/** One label of a host name (RFC 1123 section 2.1): letters, digits and inner hyphens, 63 at most. */
const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
/** A scheme or an absolute path, then no characters that RFC 3986 excludes. Schemes are not checked further. */
const isUri = (text: string): boolean =>
  text === "*" || (/^(?:[A-Za-z][A-Za-z0-9+.-]*:|\/)[^\s<>"{}|\\^`]*$/.test(text) && !/%(?![0-9A-Fa-f]{2})/.test(text));

/** Units of durations that people write, `3 days`, and how their names begin. */
const longUnits = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|second.*|m|min|minute.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i;
/** Go's durations, or whatever has a number before a unit. */
const isDuration = (text: string): boolean =>
  parseDuration(text).ok ||
  (text.length <= 4_096 && [...text.matchAll(/\d+\s*([A-Za-zµ]+)/g)].some(([, unit = ""]) => longUnits.test(unit)));

/** A UUID whose version is told, in lower or upper case, with or without its hyphens. */
const uuid = (version: string, variant = "[0-9a-f]"): FormatCheck =>
  matching(
    new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, "i"),
    "must be a UUID of its version",
  );
/** RFC 4122 section 4.1.1. */
const rfcVariant = "[89ab]";
const channel = "\\s*(?:\\d{1,2}|1\\d\\d|2[0-4]\\d|25[0-5])\\s*";

/** RFC 3339 with exactly the six digits of `MicroTime`. */
const isMicroTime = (text: string): boolean => /\.\d{6}(?:[Zz]|[+-]\d{2}:\d{2})$/.test(text) && isTime(text);
const isTime = (text: string): boolean => parseInstant(text) !== undefined;
const dateTime = byTest(isTime, "must be a time as RFC 3339 writes it");

const microTime = (text: string): string | undefined => {
  const at = isMicroTime(text) ? parseInstant(text) : undefined;
  // JavaScript's instants have three of the six digits.
  const digits = /\.(\d{6})/.exec(text)?.[1];
  return at === undefined ? undefined : `${formatTime(at).slice(0, -1)}.${digits}Z`;
};

const wholeSeconds = (text: string): string | undefined => {
  if (!isTime(text)) return undefined;
  return /^.{10}T[^.]{8}Z$/.test(text) ? text : formatTime(parseInstant(text) ?? 0);
};

const canonicalQuantity = (text: string): string | undefined => {
  const quantity = parseQuantity(text);
  return quantity.ok ? formatQuantity(quantity.value) : undefined;
};

/**
 * How the formats that Go's types of Kubernetes read and write come out of them: times in UTC, with as many digits as
 * the type holds; `1000m` as `1`. Undefined for texts that those types cannot read.
 */
export const canonicalFormats: ReadonlyMap<string, (text: string) => string | undefined> = new Map([
  ["kubernetes-time", wholeSeconds],
  ["kubernetes-micro-time", microTime],
  ["kubernetes-quantity", canonicalQuantity],
]);

/** The formats that are checked. Unknown ones say nothing about a value. */
export const formatChecks: ReadonlyMap<string, FormatCheck> = new Map([
  ["date-time", dateTime],
  ["datetime", dateTime],
  ["kubernetes-time", dateTime],
  [
    "kubernetes-micro-time",
    byTest(isMicroTime, "must be a time with six digits of the second, such as 2026-01-31T12:00:00.000000Z"),
  ],
  ["kubernetes-quantity", byTest((text) => parseQuantity(text).ok, "must be a quantity such as 1Gi, 500m or 2")],
  ["date", byTest(isDate, "must be a date such as 2026-01-31")],
  ["duration", byTest(isDuration, "must be a duration such as 1h30m")],
  ["byte", byTest(isBase64, "must be base64")],
  ["uuid", matching(/^[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$/, "must be a UUID")],
  ["uuid3", uuid("3")],
  ["uuid4", uuid("4", rfcVariant)],
  ["uuid5", uuid("5", rfcVariant)],
  ["bsonobjectid", matching(/^[0-9a-fA-F]{24}$/, "must be 24 hexadecimal digits")],
  ["hexcolor", matching(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/, "must be a color such as #0099ff")],
  [
    "rgbcolor",
    matching(
      new RegExp(`^rgb\\(${[channel, channel, channel].join(",")}\\)$`),
      "must be a color such as rgb(0,153,255)",
    ),
  ],
  ["ssn", matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/, "must be a social security number")],
  ["ipv4", byTest((text) => isIpv4(text) || isMappedIpv4(text), "must be an IPv4 address")],
  ["ipv6", byTest(isIpv6, "must be an IPv6 address")],
  ["cidr", byTest(isCidr, "must be an address range such as 10.0.0.0/8")],
  ["uri", byTest((text) => text.length <= 65_536 && isUri(text), "must be a URI")],
  ["email", matching(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")],
  ["hostname", matching(new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*\\.?$`), "must be a host name")],
  [
    "mac",
    // EUI-48, EUI-64 and the 20 octets of InfiniBand, in pairs of digits or dotted in fours.
    matching(
      /^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}(?:(?:[0-9a-f]{2}\1){2}(?:(?:[0-9a-f]{2}\1){12})?)?[0-9a-f]{2}$|^(?:[0-9a-f]{4}\.){2}(?:[0-9a-f]{4}\.(?:(?:[0-9a-f]{4}\.){6})?)?[0-9a-f]{4}$/i,
      "must be a MAC address",
    ),
  ],
]);
