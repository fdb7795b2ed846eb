import { formatTime, parseDuration, parseInstant } from "#lib/base/index.ts";
import { parseQuantity } from "#lib/text/index.ts";

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

/** 0 to 255 without leading zeros, which some programs read as octal. */
const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4Pattern = new RegExp(`^${octet}(?:\\.${octet}){3}$`);
const isIpv4 = (text: string): boolean => ipv4Pattern.test(text);

/** RFC 4291 section 2.2: eight groups, or fewer with one `::`, the last two possibly as IPv4. Without zone (`%eth0`). */
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
  if (slash < 0 || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return false;
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
/**
 * A scheme or an absolute path, then none of the characters that RFC 3986 excludes. What a scheme demands beyond that is its
 * own business.
 */
const isUri = (text: string): boolean => /^(?:[A-Za-z][A-Za-z0-9+.-]*:|\/)[^\s<>"{}|\\^`]*$/.test(text);

/** RFC 3339 with exactly the six digits of `MicroTime`. */
const isMicroTime = (text: string): boolean => /\.\d{6}(?:[Zz]|[+-]\d{2}:\d{2})$/.test(text) && isTime(text);
const isTime = (text: string): boolean => parseInstant(text) !== undefined;

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

/**
 * How the formats that Go's types of Kubernetes read and write come out of them: in UTC, with as many digits as the type holds.
 * Undefined for texts that those types cannot read.
 */
export const canonicalFormats: ReadonlyMap<string, (text: string) => string | undefined> = new Map([
  ["kubernetes-time", wholeSeconds],
  ["kubernetes-micro-time", microTime],
]);

/** The formats that are checked. Unknown ones say nothing about a value. */
export const formatChecks: ReadonlyMap<string, FormatCheck> = new Map([
  ["date-time", byTest(isTime, "must be a time as RFC 3339 writes it")],
  ["kubernetes-time", byTest(isTime, "must be a time as RFC 3339 writes it")],
  [
    "kubernetes-micro-time",
    byTest(isMicroTime, "must be a time with six digits of the second, such as 2026-01-31T12:00:00.000000Z"),
  ],
  ["kubernetes-quantity", byTest((text) => parseQuantity(text).ok, "must be a quantity such as 1Gi, 500m or 2")],
  ["date", byTest(isDate, "must be a date such as 2026-01-31")],
  ["duration", byTest((text) => parseDuration(text).ok, "must be a duration such as 1h30m")],
  ["byte", byTest(isBase64, "must be base64")],
  ["uuid", matching(/^[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$/, "must be a UUID")],
  ["ipv4", byTest(isIpv4, "must be an IPv4 address")],
  ["ipv6", byTest(isIpv6, "must be an IPv6 address")],
  ["ip", byTest((text) => isIpv4(text) || isIpv6(text), "must be an IP address")],
  ["cidr", byTest(isCidr, "must be an address range such as 10.0.0.0/8")],
  ["uri", byTest((text) => text.length <= 65_536 && isUri(text), "must be a URI")],
  ["email", matching(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")],
  ["hostname", matching(new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*\\.?$`), "must be a host name")],
  ["mac", matching(/^(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}$/, "must be a MAC address")],
]);
