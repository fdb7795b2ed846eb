/** Subresources that carry streams in both directions over a connection of their own. */
const podStreams: ReadonlySet<string> = new Set(["exec", "attach", "portforward"]);

export const isPodStream = (subresource: string): boolean => podStreams.has(subresource);
