/* Holds a file open as programs do that share it for reading alone: packaging/windows/try replaces it meanwhile. */
#include <windows.h>

int main(int count, char **arguments) {
  HANDLE file = count > 1 ? CreateFileA(arguments[1], GENERIC_READ, FILE_SHARE_READ, 0, OPEN_EXISTING, 0, 0) : INVALID_HANDLE_VALUE;
  if (file == INVALID_HANDLE_VALUE) return 1;
  CloseHandle(CreateFileA("held", GENERIC_WRITE, 0, 0, CREATE_ALWAYS, 0, 0));
  Sleep(60000);
  return 0;
}
