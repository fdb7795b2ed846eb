import type { CachedResult, CacheExplanation } from "#kernel/dialect/index.ts";
import { formatTable } from "#kernel/command/index.node.ts";

/**
 * The answer, then what is different from the nearest result, a line for each field. Long values and what may be secret are digests
 * already, so that a line fits most terminals, and nothing has to be hidden here.
 */
export function cacheText({ step, item, outcome, message, nearest, changes }: CacheExplanation): string {
  const which = item === undefined ? step : `${step}[${item}]`;
  const head = `${which}: ${outcome}, ${message}\n`;
  if (nearest === undefined) return head;
  const rows = changes.map(({ field, was, is }) => [field, valueText(was), valueText(is)]);
  return `${head}nearest: ${originText(nearest)}, stored ${nearest.storedTime}\n\n${formatTable(["FIELD", "WAS", "IS"], rows)}`;
}

/** Two words, as `slipway logs` and `slipway cache explain` take them. */
const originText = ({ workflow, step, item }: CachedResult): string =>
  `${workflow} ${step}${item === undefined ? "" : `[${item}]`}`;

/** On one line; what is not there is `-`. */
const valueText = (value: string | undefined): string => value?.replaceAll("\n", "\\n") ?? "-";
