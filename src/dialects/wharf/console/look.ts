import type { StepStatus } from "../results/build-document.ts";

export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  waiting(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
  label(index: number, text: string): string;
}

export interface Look {
  readonly form: "pretty" | "plain" | "json";
  readonly paint: Paint;
  readonly unicode: boolean;
  readonly hasTimestamps: boolean;
  readonly isQuiet: boolean;
}

export function painted(status: StepStatus, paint: Paint): string {
  if (status === "Success") return paint.good(status);
  if (status === "Failed") return paint.bad(status);
  return status === "Cancelled" ? paint.waiting(status) : paint.dim(status);
}

export function spanOf(from: string | null, to: string | null): string {
  if (from === null || to === null) return "-";
  const tenths = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 100));
  if (tenths < 600) return `${Math.floor(tenths / 10)}.${tenths % 10}s`;
  const seconds = Math.floor(tenths / 10);
  const pair = (big: number, bigUnit: string, small: number, smallUnit: string): string =>
    `${big}${bigUnit}${`${small}`.padStart(2, "0")}${smallUnit}`;
  if (seconds < 3600) return pair(Math.floor(seconds / 60), "m", seconds % 60, "s");
  return pair(Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "m");
}
