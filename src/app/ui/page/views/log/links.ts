export interface LinkedText {
  readonly text: string;
  /** Only http and https. */
  readonly href?: string;
}

const address = /https?:\/\/[^\s<>"'`\\^{|}]+/gi;

/** Addresses in a text, without the punctuation that follows them. */
export function splitLinks(text: string): readonly LinkedText[] {
  if (!text.includes("://")) return [{ text }];
  const found: LinkedText[] = [];
  let from = 0;
  for (const { 0: match, index } of text.matchAll(address)) {
    const end = endOf(match);
    const href = hrefOf(match.slice(0, end));
    if (href === undefined) continue;
    if (index > from) found.push({ text: text.slice(from, index) });
    from = index + end;
    found.push({ text: text.slice(index, from), href });
  }
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

/** Marks at the end belong to the sentence. */
function endOf(match: string): number {
  let end = match.length;
  while (end > 0 && ".,;:!?)]".includes(match[end - 1] ?? "")) end -= 1;
  return end;
}

function hrefOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === "http:" || protocol === "https:" ? href : undefined;
}
