/** Milliseconds since the Unix epoch, an integer. */
export type Instant = number;
/** A length of time in milliseconds, an integer. */
export type Millis = number;

/** RFC 3339 UTC in whole seconds, as Kubernetes' `Time` demands: `2026-01-31T12:00:00Z`. Fractions are dropped. */
export const formatTime = (at: Instant): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** RFC 3339 UTC with six fractional digits, as Kubernetes' `MicroTime` demands. */
export const formatMicroTime = (at: Instant): string => `${new Date(at).toISOString().slice(0, 23)}000Z`;

// What happens in one pass happens at one instant, which is written many times.
let lastFormatted: Instant = 0;
let lastText = "1970-01-01T00:00:00.000Z";

/** RFC 3339 UTC with milliseconds. */
export function formatInstant(at: Instant): string {
  if (at === lastFormatted) return lastText;
  lastText = new Date(at).toISOString();
  lastFormatted = at;
  return lastText;
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** The instant a text in RFC 3339 names, or undefined when it is not one. Digits beyond milliseconds are dropped. */
export function parseInstant(text: string): Instant | undefined {
  if (!rfc3339.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
