/** Standard input as it comes. How much of it is taken is for the reader to bound. */
export const readStdin = (): AsyncIterable<Uint8Array> => process.stdin;
