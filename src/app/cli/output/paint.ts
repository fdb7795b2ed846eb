import picocolors from "picocolors";

/** Colours by meaning; every function returns its text unchanged where colour is off. */
export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  active(text: string): string;
  waiting(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
}

export function paintFor(color: boolean): Paint {
  const colors = picocolors.createColors(color);
  return {
    good: colors.green,
    bad: colors.red,
    active: colors.cyan,
    waiting: colors.yellow,
    dim: colors.dim,
    bold: colors.bold,
  };
}
