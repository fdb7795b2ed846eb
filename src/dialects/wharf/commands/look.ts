import type { Output } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";

const labelColors = ["cyan", "magenta", "blue", "yellow"] as const;

export async function lookOf({ output = "auto", quiet, timestamps }: WharfRunOptions, out: Output) {
  const { colorsFor } = await import("#kernel/command/index.node.ts");
  const form = output === "auto" ? (out.isTerminal ? "pretty" : "plain") : output;
  const colors = colorsFor(form === "pretty" && out.color);
  const paint = {
    good: colors.green,
    bad: colors.red,
    waiting: colors.yellow,
    dim: colors.dim,
    bold: colors.bold,
    label: (index: number, text: string) => colors[labelColors[index % labelColors.length] ?? "cyan"](text),
  };
  return { form, paint, unicode: out.unicode, hasTimestamps: timestamps === true, isQuiet: quiet === true } as const;
}
