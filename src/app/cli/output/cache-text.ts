import type { CachedResult, CacheExplanation } from "#dialects/index.ts";
import { formatTable } from "./table.ts";

/** The answer, then what is different from the nearest result, a line for each field. */
export function cacheText({ step, item, outcome, message, nearest, changes }: CacheExplanation): string {
  const which = item === undefined ? step : `${step}[${item}]`;
  const head = `${which}: ${outcome}, ${message}\n`;
  if (nearest === undefined) return head;
  const rows = changes.map(({ field, then, now }) => [field, valueText(then), valueText(now)]);
  return `${head}nearest: ${originText(nearest)}, stored ${nearest.storedTime}\n\n${formatTable(["FIELD", "THEN", "NOW"], rows)}`;
}

const originText = ({ workflow, step, item }: CachedResult): string =>
  `${workflow} ${step}${item === undefined ? "" : `[${item}]`}`;

/** On one line; what is not there is `-`. */
const valueText = (value: string | undefined): string => value?.replaceAll("\n", "\\n") ?? "-";
