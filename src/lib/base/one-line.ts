const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Makes text safe for one line of a terminal: line ends become a blank, other control characters are dropped. */
export const oneLine = (text: string): string =>
  controls.test(text)
    ? text
        .trim()
        .replaceAll(/[ \t]*[\n\r\u2028\u2029]\s*/g, " ")
        .replaceAll("\t", " ")
        .replaceAll(new RegExp(controls, "g"), "")
    : text;
