const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * What somebody has written, as part of one line of a terminal: line ends and the blanks around them become one blank; other control
 * characters, which could move the cursor or colour what follows, are left out. The printable rest of an escape sequence stays, so
 * that it shows that there was one. O(length).
 */
export const oneLine = (text: string): string =>
  controls.test(text)
    ? text
        .trim()
        .replaceAll(/[ \t]*[\n\r\u2028\u2029]\s*/g, " ")
        .replaceAll("\t", " ")
        .replaceAll(new RegExp(controls, "g"), "")
    : text;
