/** The names of a pattern such as `/runs/:dialect/:namespace/:name`; a star at the end takes the rest. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const [wanted, found] = [pattern.split("/"), path.split("/")];
  const isOpen = wanted.at(-1) === "*";
  if (isOpen ? found.length < wanted.length - 1 : found.length !== wanted.length) return undefined;
  const names: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    if (part === "*") return { ...names, rest: found.slice(index).map(decode).join("/") };
    const text = decode(found[index] ?? "");
    if (part.startsWith(":")) names[part.slice(1)] = text;
    else if (part !== text) return undefined;
  }
  return names;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
