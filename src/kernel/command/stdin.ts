/** The reader must bound it. */
export const readStdin = (): AsyncIterable<Uint8Array> => process.stdin;
