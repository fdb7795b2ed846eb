import { formatTime, type Instant, numberAt, parseInstant, textAt } from "#lib/base/index.ts";
import { type Action, done, failure, inBothForms } from "./form.ts";

// Layouts in Go's notation, as far as they are made of these parts.
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const parts = /2006|Jan|Mon|MST|Z07:00|-0700|01|02|15|03|04|05|06|PM/g;

const two = (value: number): string => String(value).padStart(2, "0");

/** In UTC. */
function formatLayout(at: Instant, layout: string): string {
  const text = formatTime(at);
  const [year = "", month = "", day = "", hour = "", minute = "", second = ""] = text.split(/[-T:Z]/);
  const weekday = days[(Math.floor(at / 86_400_000) + 4) % 7] ?? "";
  const found: Readonly<Record<string, string>> = {
    "2006": year,
    "06": year.slice(2),
    "01": month,
    Jan: months[Number(month) - 1] ?? "",
    "02": day,
    Mon: weekday,
    "15": hour,
    "03": two(Number(hour) % 12 || 12),
    PM: Number(hour) < 12 ? "AM" : "PM",
    "04": minute,
    "05": second,
    MST: "UTC",
    "Z07:00": "Z",
    "-0700": "+0000",
  };
  return layout.replace(parts, (part) => found[part] ?? part);
}

/** Undefined if the text does not have the layout. */
function parseLayout(text: string, layout: string): Instant | undefined {
  const names: string[] = [];
  const pattern = layout.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(parts, (part) => {
    names.push(part);
    if (part === "Z07:00") return "(Z|[+-]\\d\\d:\\d\\d)";
    if (part === "-0700") return "([+-]\\d{4})";
    return /^\d+$/.test(part) ? `(\\d{${part.length}})` : "(\\w+)";
  });
  const match = new RegExp(`^${pattern}$`).exec(text);
  if (match === null) return undefined;
  const has = (name: string) => names.includes(name);
  const value = (name: string) => (has(name) ? match[names.indexOf(name) + 1] : undefined);
  const year = has("2006") ? value("2006") : has("06") ? `20${value("06")}` : "1970";
  const month = has("01") ? value("01") : has("Jan") ? two(months.indexOf(value("Jan") ?? "") + 1) : "01";
  const half = has("03") ? two((Number(value("03")) % 12) + (value("PM") === "PM" ? 12 : 0)) : "00";
  const hour = has("15") ? value("15") : half;
  const zone = has("Z07:00") ? value("Z07:00") : (value("-0700")?.replace(/(\d\d)$/, ":$1") ?? "Z");
  const rest = (name: string) => (has(name) ? value(name) : name === "02" ? "01" : "00");
  return parseInstant(`${year}-${month}-${rest("02")}T${hour}:${rest("04")}:${rest("05")}${zone}`);
}

const timestamp: Action = (params) => {
  const [date, layout] = [textAt(params, "date") ?? "", textAt(params, "layout")];
  const at = layout === undefined ? parseInstant(date) : parseLayout(date, layout);
  return at === undefined
    ? failure(`date: expected ${layout ?? "2006-01-02T15:04:05Z07:00"}, found "${date}"`)
    : done({ timestamp: Math.floor(at / 1000) });
};

const date: Action = (params) => {
  const seconds = numberAt(params, "timestamp");
  if (seconds === undefined || Math.abs(seconds) > 8.64e12) return failure("timestamp: expected seconds since 1970");
  const layout = textAt(params, "layout");
  return done({ date: layout === undefined ? formatTime(seconds * 1000) : formatLayout(seconds * 1000, layout) });
};

export const timeProviders = inBothForms("time", { timestamp, date });
