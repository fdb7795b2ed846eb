/** Bytes of an Event's note in UTF-8. */
export const longestNote = 1024;
/** Characters of an Event's reason, action and reporting instance. */
export const longestWord = 128;
