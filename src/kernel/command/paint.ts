import picocolors from "picocolors";

/** Functions by colour; every one returns its text unchanged where colour is off. */
export const colorsFor = (color: boolean) => picocolors.createColors(color);

/** Colours by meaning; every function returns its text unchanged where colour is off. */
export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  active(text: string): string;
  waiting(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
}

/** Whether there is colour is decided in `environment.ts`; the library's own guess is not asked. */
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
