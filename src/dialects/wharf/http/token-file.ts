import { readFile } from "node:fs/promises";
import { messageOf, SlipwayError } from "#lib/base/index.ts";

/** What `Authorization: Bearer` can bear: visible ASCII, and well below what servers read of a header. */
const longestToken = 4096;

/**
 * A token from the file that somebody has named: one that a door asks for, or that a client brings. White space around it is not part of it; an empty
 * file is a mistake and not an open door, and so is a token that no request can bear, which would open to nobody. Rejects with `wharf-token`, and never
 * quotes the file; `flag` is who has named it.
 */
export async function readTokenFile(file: string, flag: string): Promise<string> {
  const hint = `put a token into the file, or leave ${flag} out`;
  let text: string;
  try {
    text = (await readFile(file, "utf8")).trim();
  } catch (thrown) {
    throw new SlipwayError("wharf-token", `${flag}: cannot read the token: ${messageOf(thrown)}`, {
      hint,
      cause: thrown,
    });
  }
  const problem = problemOf(text);
  if (problem !== undefined)
    throw new SlipwayError("wharf-token", `${flag} ${file}: expected a token, found ${problem}`, { hint });
  return text;
}

/** What keeps a text from being a token; undefined for one. */
function problemOf(text: string): string | undefined {
  if (text === "") return "nothing";
  if (text.length > longestToken) return `more than ${longestToken} characters`;
  if (/\s/.test(text)) return "several words or lines";
  return /^[\x21-\x7e]+$/.test(text) ? undefined : "characters that no request can bear (only visible ASCII is)";
}
