import { err, type Millis, ok, parseDuration, type Result } from "#lib/base/index.ts";

// The cron of Kubernetes' CronJobs: five fields (minute, hour, day of month, month, day of week), the names `@hourly`
// to `@yearly`, and `@every 90m`. Extensions of other crons (`L`, `W`, `#`, seconds, years, 7 as Sunday) are refused,
// not guessed at.

/** Minutes at which something is due, as sets of the values a field may have. */
export interface CronFields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday, 6 is Saturday. */
  readonly daysOfWeek: ReadonlySet<number>;
  /** Either day field matches if both are restricted (`0 0 1 * 5`), both must if one is a star. `*\/2` restricts. */
  readonly eitherDay: boolean;
  /** The hour field does not begin with a star: `nextLocalTime` tells what that means when clocks are changed. */
  readonly isHourFixed: boolean;
}

/** What a schedule says: a calendar, or a distance from the time before, at least one second. */
export type CronSchedule = CronFields | { readonly every: Millis };

/** The values of one field. */
interface Range {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Names of the values, in order from `from`; case does not matter. */
  readonly words?: readonly string[];
}

const minute: Range = { name: "minute", from: 0, to: 59 };
const hour: Range = { name: "hour", from: 0, to: 23 };
const dayOfMonth: Range = { name: "day of month", from: 1, to: 31 };
const month: Range = {
  name: "month",
  from: 1,
  to: 12,
  words: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const dayOfWeek: Range = {
  name: "day of week",
  from: 0,
  to: 6,
  words: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

const ranges: readonly Range[] = [minute, hour, dayOfMonth, month, dayOfWeek];

const macros: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

/** Longer texts are refused unread. Every minute of an hour by name takes 200 characters. */
const longestText = 1000;

/**
 * Reads a schedule. The error is a message that names the field and what was found there. A zone (`TZ=Asia/Tokyo 0 9 *
 * * *`) is refused: the schedule's owner has a member for it. Linear in the length of the text.
 */
export function parseCron(text: string): Result<CronSchedule, string> {
  if (text.length > longestText) return err(`a schedule may have at most ${longestText} characters`);
  if (/^(?:CRON_)?TZ=/.test(text)) return err("a schedule cannot name a time zone; use timeZone");
  const body = text.trim();
  return body.startsWith("@") ? parseMacro(body) : parseFields(body);
}

function parseMacro(body: string): Result<CronSchedule, string> {
  const every = /^@every (.*)$/.exec(body)?.[1];
  if (every === undefined) {
    const meant = macros.get(body);
    return meant === undefined ? err(`unknown schedule ${JSON.stringify(body)}`) : parseFields(meant);
  }
  const duration = parseDuration(every);
  if (!duration.ok) return duration;
  // Whole seconds, as in Kubernetes: a schedule without distance would never let go of the processor.
  return ok({ every: Math.max(1000, duration.value - (duration.value % 1000)) });
}

function parseFields(body: string): Result<CronSchedule, string> {
  const texts = body === "" ? [] : body.split(/\s+/);
  if (texts.length !== 5) return err(`expected exactly 5 fields, found ${texts.length}: ${JSON.stringify(body)}`);
  const read = ranges.map((range, index) => parseField(texts[index] ?? "", range));
  for (const field of read) if (!field.ok) return field;
  const [minutes, hours, days, months, weekdays] = read.map((field) => (field.ok ? field.value : nothing));
  return ok({
    minutes: minutes?.values ?? none,
    hours: hours?.values ?? none,
    daysOfMonth: days?.values ?? none,
    months: months?.values ?? none,
    daysOfWeek: weekdays?.values ?? none,
    eitherDay: days?.isStar === false && weekdays?.isStar === false,
    isHourFixed: !/^[*?]/.test(texts[1] ?? ""),
  });
}

interface Field {
  readonly values: ReadonlySet<number>;
  /** It holds a star or question mark without a step. */
  readonly isStar: boolean;
}

const none: ReadonlySet<number> = new Set();
const nothing: Field = { values: none, isStar: false };

/** `1,10-20/5,fri` → the values of all parts together. */
function parseField(text: string, range: Range): Result<Field, string> {
  const values = new Set<number>();
  let isStar = false;
  for (const part of text.split(",")) {
    const read = parsePart(part, range);
    if (typeof read === "string") return err(`${range.name}: ${read}, found ${JSON.stringify(part)}`);
    for (let value = read.from; value <= read.to; value += read.step) values.add(value);
    isStar ||= read.isStar;
  }
  return ok({ values, isStar });
}

/**
 * A step that is larger than its field, as in `*\/70` minutes: Kubernetes takes it, and then it means the first value
 * alone. The answer says which; undefined when there is none. Asked of texts that `parseCron` takes.
 */
export function stepBeyondField(text: string): string | undefined {
  const body = text.trim();
  if (body.startsWith("@")) return undefined;
  for (const [index, field] of body.split(/\s+/).entries()) {
    const range = ranges[index];
    const count = range === undefined ? 0 : range.to - range.from + 1;
    const part = field.split(",").find((one) => Number(one.split("/")[1] ?? 1) > count);
    if (range !== undefined && part !== undefined)
      return `${range.name}: a step may be ${count} at most, found ${JSON.stringify(part)}`;
  }
  return undefined;
}

interface Part {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly isStar: boolean;
}

/** One range with its step, or what is wrong. A single value with a step runs to the end: `5/10` is `5-59/10`. */
function parsePart(part: string, range: Range): Part | string {
  const [, bounds = "", stepText] = /^([^/]*)(?:\/(\d{1,9}))?$/.exec(part) ?? [];
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step === 0) return "a step must be above 0";
  if (bounds === "*" || bounds === "?") return { from: range.from, to: range.to, step, isStar: step === 1 };
  const [low, high, ...more] = bounds.split("-").map((word) => valueOf(word, range));
  if (low === undefined || more.length > 0 || (bounds.includes("-") && high === undefined)) return expected(range);
  const to = high ?? (stepText === undefined ? low : range.to);
  if (low < range.from || to > range.to) return expected(range);
  return low > to ? "the beginning of a range is after its end" : { from: low, to, step, isStar: false };
}

function valueOf(word: string, { from, words = [] }: Range): number | undefined {
  const index = words.indexOf(word.toLowerCase());
  if (index >= 0) return from + index;
  return /^\d{1,9}$/.test(word) ? Number(word) : undefined;
}

const expected = ({ from, to, words }: Range): string =>
  `expected values from ${from} to ${to}${words === undefined ? "" : ` or names such as ${words[1] ?? ""}`}`;
