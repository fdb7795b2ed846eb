import { parseQuantity, quantityToNumber } from "#lib/text/index.ts";
import { UsageError } from "#kernel/command/index.ts";

/** Bytes as Kubernetes writes them: `512Mi`, `2Gi`, `1000000`. Throws `UsageError` for what is no whole number of bytes above 0. */
export function parseSize(flag: string, text: string): number {
  const quantity = parseQuantity(text);
  const bytes = quantity.ok ? quantityToNumber(quantity.value) : Number.NaN;
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new UsageError(`expected a size such as 512Mi or 20Gi for ${flag}, found ${JSON.stringify(text)}`);
}
