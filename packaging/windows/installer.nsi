; Per-user installer without administrator rights, with a start menu entry, file associations and an uninstaller. 64-bit, as the
; program is. /S installs silently, /D=FOLDER (last, without quotes) elsewhere.
; makensis -DVERSION=… -DPROGRAM=taco-studio.exe -DOUT=setup.exe installer.nsi
Target amd64-unicode
!include "MUI2.nsh"

!define KEY "Software\Taco Studio"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\TacoStudio"
!define MUI_ICON "..\..\assets\icon.ico"
!define MUI_UNICON "..\..\assets\icon.ico"

Name "Taco Studio"
OutFile "${OUT}"
RequestExecutionLevel user
ManifestSupportedOS Win10
ManifestDPIAware true
InstallDir "$LOCALAPPDATA\Programs\Taco Studio"
InstallDirRegKey HKCU "${KEY}" "Folder"
SetCompressor /SOLID lzma
VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "Taco Studio"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "Taco Studio installer"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "MIT OR Apache-2.0"

!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\taco-studio.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

!macro FileType EXTENSION KIND DESCRIPTION
  WriteRegStr HKCU "Software\Classes\.${EXTENSION}\OpenWithProgids" "${KIND}" ""
  WriteRegStr HKCU "Software\Classes\${KIND}" "" "${DESCRIPTION}"
  WriteRegStr HKCU "Software\Classes\${KIND}\DefaultIcon" "" '"$INSTDIR\taco-studio.exe",0'
  WriteRegStr HKCU "Software\Classes\${KIND}\shell\open\command" "" '"$INSTDIR\taco-studio.exe" "%1"'
!macroend

!macro RemoveFileType EXTENSION KIND
  DeleteRegKey HKCU "Software\Classes\${KIND}"
  DeleteRegValue HKCU "Software\Classes\.${EXTENSION}\OpenWithProgids" "${KIND}"
  ; The keys above, unless another program has something in them.
  DeleteRegKey /ifempty HKCU "Software\Classes\.${EXTENSION}\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "Software\Classes\.${EXTENSION}"
!macroend

; The shell's list of programs and icons is read anew.
!macro AssociationsChanged
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
!macroend

; A program that runs cannot be replaced or deleted.
!macro StopWhenOpen PREFIX
Function ${PREFIX}StopWhenOpen
  retry:
  IfFileExists "$INSTDIR\taco-studio.exe" 0 free
  ClearErrors
  FileOpen $0 "$INSTDIR\taco-studio.exe" a
  IfErrors 0 close
  MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Taco Studio is open. Close it, then retry." /SD IDCANCEL IDRETRY retry
  SetErrorLevel 2
  Quit
  close:
  FileClose $0
  free:
FunctionEnd
!macroend
!insertmacro StopWhenOpen ""
!insertmacro StopWhenOpen "un."

Section "Taco Studio"
  Call StopWhenOpen
  SetOutPath "$INSTDIR"
  File "/oname=taco-studio.exe" "${PROGRAM}"
  File "..\..\LICENSE-MIT"
  File "..\..\LICENSE-APACHE"
  File "..\..\docs\LICENCES.md"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Taco Studio.lnk" "$INSTDIR\taco-studio.exe"
  !insertmacro FileType "tacozip" "TacoStudio.tacozip" "TACO dataset"
  !insertmacro FileType "tortilla" "TacoStudio.tortilla" "TORTILLA dataset"
  !insertmacro FileType "taco" "TacoStudio.taco" "TACO dataset"
  ; Links taco-studio://open?…: the program asks before it opens what they name.
  WriteRegStr HKCU "Software\Classes\taco-studio" "" "URL:Taco Studio"
  WriteRegStr HKCU "Software\Classes\taco-studio" "URL Protocol" ""
  WriteRegStr HKCU "Software\Classes\taco-studio\shell\open\command" "" '"$INSTDIR\taco-studio.exe" "%1"'
  WriteRegStr HKCU "${KEY}" "Folder" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "Taco Studio"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" '"$INSTDIR\taco-studio.exe",0'
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
  SectionGetSize 0 $0
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" $0
  !insertmacro AssociationsChanged
SectionEnd

Section "Uninstall"
  Call un.StopWhenOpen
  Delete "$INSTDIR\taco-studio.exe"
  Delete "$INSTDIR\LICENSE-MIT"
  Delete "$INSTDIR\LICENSE-APACHE"
  Delete "$INSTDIR\LICENCES.md"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  ; Where nothing else was installed for this user.
  RMDir "$LOCALAPPDATA\Programs"
  Delete "$SMPROGRAMS\Taco Studio.lnk"
  !insertmacro RemoveFileType "tacozip" "TacoStudio.tacozip"
  !insertmacro RemoveFileType "tortilla" "TacoStudio.tortilla"
  !insertmacro RemoveFileType "taco" "TacoStudio.taco"
  DeleteRegKey HKCU "Software\Classes\taco-studio"
  DeleteRegKey HKCU "${KEY}"
  DeleteRegKey HKCU "${UNINSTALL}"
  !insertmacro AssociationsChanged
SectionEnd
