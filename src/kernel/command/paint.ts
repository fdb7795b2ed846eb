import picocolors from "picocolors";

/** Without colour the functions return their text unchanged. */
export const colorsFor = (color: boolean) => picocolors.createColors(color);

/** Without colour the functions return their text unchanged. */
export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  active(text: string): string;
  waiting(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
}

export function paintFor(color: boolean): Paint {
  const colors = colorsFor(color);
  return {
    good: colors.green,
    bad: colors.red,
    active: colors.cyan,
    waiting: colors.yellow,
    dim: colors.dim,
    bold: colors.bold,
  };
}
