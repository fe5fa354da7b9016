const QUESTION = /[?？؟]["'”’)\]*_`]*\s*$/;

/** Returns true if a text ends with a question mark, or with one in quotes or brackets. */
export function isQuestion(text: string): boolean {
  return QUESTION.test(text);
}
