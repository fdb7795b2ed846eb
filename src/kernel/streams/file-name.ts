import { hashName } from "#lib/base/index.node.ts";

const longest = 100;

/** The text if it is a valid file name, else a unique substitute: names may be foreign input. */
export function fileName(text: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(text) && text.length <= longest) return text;
  return `${text.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, longest)}-${hashName([text], 8)}`;
}
