/** Numbers of lines from 1, both included. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** `#L120` and `#L120-L140`, in either order. */
export function parseLineRange(hash: string): LineRange | undefined {
  const [, a, b = a] = /^#?L(\d{1,12})(?:-L?(\d{1,12}))?$/.exec(hash) ?? [];
  if (a === undefined || b === undefined) return undefined;
  const [first, last] = [Math.min(Number(a), Number(b)), Math.max(Number(a), Number(b))];
  return first === 0 ? undefined : { first, last };
}

export const formatLineRange = ({ first, last }: LineRange): string =>
  first === last ? `#L${first}` : `#L${first}-L${last}`;
