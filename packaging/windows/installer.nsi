; Per-user installer without administrator rights, with a start menu entry and file associations.
; makensis -DVERSION=… -DPROGRAM=taco-studio.exe -DOUT=setup.exe installer.nsi
Unicode true
!include "MUI2.nsh"

Name "Taco Studio"
OutFile "${OUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\Taco Studio"
InstallDirRegKey HKCU "Software\Taco Studio" "Folder"
SetCompressor /SOLID lzma
VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "Taco Studio"
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
  WriteRegStr HKCU "Software\Classes\${EXTENSION}\OpenWithProgids" "${KIND}" ""
  WriteRegStr HKCU "Software\Classes\${KIND}" "" "${DESCRIPTION}"
  WriteRegStr HKCU "Software\Classes\${KIND}\shell\open\command" "" '"$INSTDIR\taco-studio.exe" "%1"'
!macroend

Section "Taco Studio"
  SetOutPath "$INSTDIR"
  File "/oname=taco-studio.exe" "${PROGRAM}"
  File "..\..\LICENSE-MIT"
  File "..\..\LICENSE-APACHE"
  File "..\..\docs\LICENCES.md"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Taco Studio.lnk" "$INSTDIR\taco-studio.exe"
  !insertmacro FileType ".tacozip" "TacoStudio.tacozip" "TACO dataset"
  !insertmacro FileType ".tortilla" "TacoStudio.tortilla" "TORTILLA dataset"
  !insertmacro FileType ".taco" "TacoStudio.taco" "TACO dataset"
  WriteRegStr HKCU "Software\Taco Studio" "Folder" "$INSTDIR"
  WriteRegStr HKCU "Software\Microsoft\Windows\CurrentVersion\Uninstall\TacoStudio" "DisplayName" "Taco Studio"
  WriteRegStr HKCU "Software\Microsoft\Windows\CurrentVersion\Uninstall\TacoStudio" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "Software\Microsoft\Windows\CurrentVersion\Uninstall\TacoStudio" "UninstallString" '"$INSTDIR\uninstall.exe"'
SectionEnd

Section "Uninstall"
  Delete "$INSTDIR\taco-studio.exe"
  Delete "$INSTDIR\LICENSE-MIT"
  Delete "$INSTDIR\LICENSE-APACHE"
  Delete "$INSTDIR\LICENCES.md"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\Taco Studio.lnk"
  DeleteRegValue HKCU "Software\Classes\.tacozip\OpenWithProgids" "TacoStudio.tacozip"
  DeleteRegValue HKCU "Software\Classes\.tortilla\OpenWithProgids" "TacoStudio.tortilla"
  DeleteRegValue HKCU "Software\Classes\.taco\OpenWithProgids" "TacoStudio.taco"
  DeleteRegKey HKCU "Software\Classes\TacoStudio.tacozip"
  DeleteRegKey HKCU "Software\Classes\TacoStudio.tortilla"
  DeleteRegKey HKCU "Software\Classes\TacoStudio.taco"
  DeleteRegKey HKCU "Software\Taco Studio"
  DeleteRegKey HKCU "Software\Microsoft\Windows\CurrentVersion\Uninstall\TacoStudio"
SectionEnd
