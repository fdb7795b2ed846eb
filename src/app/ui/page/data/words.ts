/** Whether a text has all words of another, in any order and case: how lists of the page are filtered. */
export function wordsOf(wanted: string): (text: string) => boolean {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}
